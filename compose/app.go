package compose

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal/holder"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/mcpadapter"
	"github.com/looprig/looprig/mcpadapter/pin"
)

// MainLoop is the loop of a run that configures none.
const MainLoop = "main"

// App is one run: a session with its bindings. Close it.
type App struct {
	opt       Options
	home      string
	digestKey []byte // of the home: see DigestKeyPath
	env       config.Env
	mcp       *config.MCPFile
	conf      *config.Config
	store     *sqlite.Store
	pins      *pin.Store
	trust     *trust
	eras      *eras
	heads     *heads
	crash     crash
	tape      tape // for a recording
	// client is the session's model, models has all others.
	client  model.Client
	windows map[string]int // tokens of the context of each configured loop's model
	models  *models
	// delegates have bindings of their own.
	delegates *delegates
	// speaking is the loop that a person speaks to in the interface.
	speaking speaking
	probe    *probe // nil where none is owed

	// past is the session that the run goes on with, resumed its id.
	past    *session.Past
	resumed string

	Session *session.Session
	Manager *mcpadapter.Manager
	Port    *Port

	mu         sync.Mutex
	adopter    *mcpadapter.Adopter
	unanswered *gate.Envelope
	// notes are told once the session can be told anything.
	notes []event.Notice
}

// Open loads the configuration, opens the database and makes the session and
// the bindings. No server is started: see Start. A failure leaves nothing open.
func Open(ctx context.Context, opt Options) (_ *App, err error) {
	if opt.Env == nil {
		opt.Env = os.Environ()
	}
	if opt.By == "" {
		opt.By = "local"
	}
	a := &App{opt: opt, env: config.EnvOf(opt.Env)}
	a.delegates = newDelegates(a)
	defer func() {
		if err != nil {
			err = errors.Join(err, a.closeStore())
		}
	}()
	if err := a.load(); err != nil {
		return nil, err
	}
	if err := a.findPast(ctx); err != nil {
		return nil, err
	}
	if err := a.chooseModel(ctx); err != nil {
		return nil, err
	}
	if a.store == nil {
		if a.store, err = openStore(ctx, DBPath(a.home)); err != nil {
			return nil, err
		}
	}
	if a.pins, err = pin.Open(PinsPath(a.home)); err != nil {
		return nil, exit.New(exit.Usage, "%w", err)
	}
	entries, err := a.bindings()
	if err != nil {
		return nil, err
	}
	if a.digestKey, err = openDigestKey(a.home); err != nil {
		return nil, err
	}
	if err := a.openSession(ctx, entries); err != nil {
		return nil, err
	}
	a.trust = newTrust(a)
	a.eras = openEras(ErasPath(a.home), a.now)
	a.Port = &Port{app: a, list: entries}
	a.tape.begin(a, entries)
	if err := a.tellNotes(ctx); err != nil {
		return nil, errors.Join(err, a.Session.Close(ctx, session.CloseInfo{ExitCode: int(exit.Internal), Reason: exit.Internal.String()}))
	}
	a.Manager, err = mcpadapter.NewManager(a.started(entries), mcpadapter.Deps{
		SessionID: a.Session.ID(), Gates: a.delegates, Events: publisher{a.Session}, Reporter: reporter{a.Session},
		Trust: a.trust.decide, Clock: a.opt.Clock, Crash: a.crash.report, DigestKey: a.digestKey,
		Sampling: sampler{a}, ContextTokens: a.client.Info().ContextTokens, LoopContextTokens: a.windows, DeferPercent: a.conf.Limits.DeferShare, Eras: a.eras,
	})
	if err != nil {
		usage := exit.New(exit.Usage, "%w", err)
		return nil, errors.Join(usage, a.Session.Close(ctx, session.CloseInfo{ExitCode: int(exit.Usage), Reason: "configuration"}))
	}
	a.heads = keepHeads(a)
	return a, nil
}

func (a *App) load() error {
	var err error
	if a.home, err = Home(a.opt.Home, a.env); err != nil {
		return err
	}
	if err := makeHome(a.home); err != nil {
		return err
	}
	path, must := MCPPath(a.home), false
	if a.opt.MCPConfig != "" {
		path, must = a.opt.MCPConfig, true
	}
	if a.mcp, err = config.LoadMCP(path, a.env, must); err != nil {
		return exit.New(exit.Usage, "%w", err)
	}
	a.conf, err = loadConfig(a.home, a.opt.ConfigFile, a.env)
	if err == nil && len(a.opt.Loops) > 0 {
		a.conf.Loops = a.opt.Loops
	}
	return err
}

func openStore(ctx context.Context, path string) (*sqlite.Store, error) {
	s, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	return s, StoreFault(path, err)
}

func (a *App) bindings() ([]entry, error) {
	servers, err := a.servers()
	if err != nil {
		return nil, err
	}
	out := make([]entry, 0, len(servers))
	for _, s := range servers {
		if !s.Valid() && (s.Required || a.opt.Strict || s.Name == a.opt.Only) {
			return nil, exit.New(exit.Usage, "%w", s.Faults)
		}
		if config.CheckName(s.Name) != nil {
			// Nothing can be called that; a notice says so.
			a.note("", "invalid_entry", mcpadapter.LevelError, s.Faults.Error())
			continue
		}
		a.noteRoots(s)
		b, err := a.binding(s)
		if err != nil {
			return nil, err
		}
		out = append(out, entry{s, b})
	}
	return out, nil
}

func (a *App) openSession(ctx context.Context, entries []entry) error {
	pol, err := a.policy()
	if err != nil {
		return err
	}
	opt := session.Options{
		Store: a.store, StoreName: "sqlite", Clock: a.opt.Clock, Policy: pol, Grants: a.store,
		Limits: sessionLimits(a.conf.Limits),
		App:    "looprig " + a.opt.Version, Mode: a.opt.Mode, Title: a.opt.Title, Holder: holder.Self(),
		Interactive: a.opt.Mode == ModeInteractive || a.opt.Attended, Crash: a.crash.report,
	}
	if a.opt.Mode == ModeHeadless {
		opt.Answer = a.answer
	}
	if err := a.addLoops(ctx, &opt); err != nil {
		return err
	}
	opt.Fingerprint = a.fingerprint(entries, opt.Loops)
	if a.past != nil {
		return a.restoreSession(ctx, opt)
	}
	if a.Session, err = session.Open(ctx, opt); err != nil {
		return StoreFault(DBPath(a.home), fmt.Errorf("open the session: %w", err))
	}
	return nil
}

// answer answers a gate where no person is, and remembers the first that
// nothing answered.
func (a *App) answer(ctx context.Context, env gate.Envelope) (gate.Response, bool) {
	if a.opt.Answers != nil {
		if resp, ok := a.opt.Answers.Answer(ctx, env); ok {
			return resp, true
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unanswered == nil {
		a.unanswered = &env
	}
	return gate.Response{}, false
}

// RequireEnabled fails, with the way out, when a binding is configured and
// disabled.
func (a *App) RequireEnabled(name string) error {
	if s, ok := a.Port.server(name); ok && !s.Enabled {
		e := exit.New(exit.ToolError, "server %s is disabled, so its tools are unavailable", name)
		e.Binding, e.Class = name, "unavailable"
		return e.WithHint("enable it: looprig mcp enable %s", name)
	}
	return nil
}

func (a *App) note(binding, code string, level mcpadapter.Level, text string) {
	a.notes = append(a.notes, event.Notice{Binding: binding, Code: code, Level: string(level), Text: text})
}

// noteRoots remarks on roots that are not there: they may come, so they are
// told to the server all the same.
func (a *App) noteRoots(s config.Server) {
	for _, root := range s.Roots {
		if _, err := os.Stat(root); s.Enabled && s.Valid() && errors.Is(err, fs.ErrNotExist) {
			a.note(s.Name, "root_missing", mcpadapter.LevelWarn, "the root "+root+" does not exist")
		}
	}
}

// tellNotes tells what was found while the configuration was read.
func (a *App) tellNotes(ctx context.Context) error {
	for i := range a.notes {
		if err := a.Session.Publish(ctx, &a.notes[i]); err != nil {
			return err
		}
	}
	return nil
}

// RefusedGate is an error with its exit code when a gate of the run found no
// answer, else nil.
func (a *App) RefusedGate() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unanswered == nil {
		return nil
	}
	e := exit.New(exit.GateRefused, "a question of kind %s found no answer and was refused", a.unanswered.Kind)
	e.Binding, e.Class = a.unanswered.Subject.Binding, string(gate.ReasonNoGate)
	return e.WithHint("prepare an answer with --answers FILE, or use the interface")
}

// Start runs the bindings and gives every loop its tools. Interactively it
// returns when the required bindings serve; headless it waits for all enabled
// ones to serve or to fail once, so that a script begins on settled ground.
func (a *App) Start(ctx context.Context) error {
	if a.opt.Mode == ModeHeadless {
		if err := a.trust.settle(ctx); err != nil {
			return err
		}
	}
	adopter, err := a.Manager.StartAdoption(a.Session, a.delegates)
	if err != nil {
		return exit.New(exit.Internal, "%w", err)
	}
	a.mu.Lock()
	a.adopter = adopter
	a.mu.Unlock()
	if err := a.Manager.Start(ctx); err != nil {
		return a.startError(err)
	}
	if a.opt.Mode == ModeHeadless {
		a.awaitSettled(ctx)
		if err := a.integrity(); err != nil {
			return err
		}
	}
	for _, l := range a.Session.Loops() {
		if err := adopter.Install(ctx, l.ID, l.Name); err != nil {
			return exit.New(exit.Internal, "give loop %s its tools: %w", l.Name, err)
		}
	}
	if a.opt.Mode == ModeHeadless && a.Resumed() {
		// What goes on from before comes first.
		_ = a.Session.WaitIdle(ctx)
	}
	return ctx.Err()
}

func (a *App) awaitSettled(ctx context.Context) {
	for _, b := range a.Manager.Status() {
		if b.Enabled {
			_ = a.Manager.Wait(ctx, b.Name) // a failure is in the status and the events
		}
	}
}

// integrity is an error when a server is not what its entry says, required or
// not: a run without a person does not go on beside it.
func (a *App) integrity() error {
	for _, b := range a.Manager.Status() {
		if b.Enabled && b.Class == string(classIntegrity) {
			e := exit.New(exit.Integrity, "server %s was not started: %s", b.Name, b.Reason)
			e.Binding, e.Class = b.Name, b.Class
			return e
		}
	}
	return nil
}

// endpointClass is the class of what answered and does not speak MCP.
const endpointClass = "endpoint"

// startError finds the exit code that required bindings deserve.
func (a *App) startError(err error) error {
	var startup *mcpadapter.StartupError
	if !errors.As(err, &startup) {
		if errors.Is(err, context.Canceled) {
			return exit.New(exit.Interrupted, "%w", err)
		}
		return exit.New(exit.Internal, "%w", err)
	}
	worst := exit.OK
	out := exit.New(exit.Unreachable, "%w", err)
	for _, f := range startup.Failures {
		code := failureCode(f)
		if exit.Worse(worst, code) != worst {
			worst, out.Binding, out.Class = code, f.Binding, string(f.Class)
		}
	}
	out.Code, out.Name = worst, worst.String()
	if out.Class == endpointClass {
		return out.WithHint(`check the address (often it ends in /mcp or /sse), and its "type": "http" is the transport of today, "sse" the one of 2024-11-05`)
	}
	if worst == exit.Auth {
		return out.WithHint(`give the server's token in its entry: "headers": {"Authorization": "Bearer ${TOKEN}"}`)
	}
	return out
}

// Close ends the run: servers first, then the session with its last event, then
// the database.
func (a *App) Close(info session.CloseInfo) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	a.mu.Lock()
	adopter := a.adopter
	a.mu.Unlock()
	var err error
	if adopter != nil {
		err = adopter.Close()
	}
	err = errors.Join(err, a.Manager.Close(ctx))
	a.heads.end()
	err = errors.Join(err, a.Session.Close(ctx, info))
	a.heads.last(ctx)
	_ = a.eras.save() // a cache: what could not be kept is found again
	if a.opt.Drain != nil {
		err = errors.Join(err, a.opt.Drain())
	}
	err = errors.Join(err, a.tape.end(ctx, a))
	return errors.Join(err, a.closeStore())
}

func (a *App) closeStore() error {
	if a.store == nil {
		return nil
	}
	return a.store.Close()
}

// publisher gives the adapter's events to the session.
type publisher struct{ s *session.Session }

func (p publisher) Publish(ctx context.Context, e event.Event) error { return p.s.Publish(ctx, e) }

// reporter turns the adapter's notices into events.
type reporter struct{ s *session.Session }

func (r reporter) Report(n mcpadapter.Notice) {
	// A notice that cannot be journaled leaves the session latched, which says so.
	_ = r.s.Publish(context.Background(), &event.Notice{Binding: n.Binding, Code: n.Code, Level: string(n.Level), Text: n.Text})
}

func suggest(word string, known []string) string { return doc.DidYouMean(word, known) }
