package compose

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/ledger/anchor"
)

const (
	// HeadInterval is how often a run brings the ledger's head up to date; it also
	// does when it ends.
	HeadInterval = time.Minute
	// headWait bounds one bringing up to date.
	headWait = 5 * time.Second
)

// The codes of notices about the head.
const (
	codeHeadUnkept   = "ledger_head_unkept"
	codeHeadMismatch = "ledger_head_mismatch"
)

// HeadDir is where the head of a store's ledger is kept, apart from the home: in
// the configured ledger.anchor, else in $XDG_STATE_HOME/looprig/heads.
func HeadDir(ctx context.Context, store *sqlite.Store, conf *config.Config, env config.Env) (*anchor.Dir, error) {
	base := conf.Ledger.Anchor
	if base == "" {
		state, ok := env("XDG_STATE_HOME")
		if !ok || !filepath.IsAbs(state) { // a relative one is to be ignored
			user, ok := env("HOME")
			if !ok || user == "" {
				return nil, errors.New("neither ledger.anchor nor XDG_STATE_HOME nor HOME says where the ledger's head is kept")
			}
			state = filepath.Join(user, ".local", "state")
		}
		base = filepath.Join(state, "looprig", "heads")
	}
	id, err := store.HomeID(ctx)
	if err != nil {
		return nil, err
	}
	return anchor.At(base, id)
}

// Anchor is HeadDir by the configuration of a home.
func Anchor(ctx context.Context, store *sqlite.Store, home, configFile string, env config.Env) (*anchor.Dir, error) {
	conf, err := loadConfig(home, configFile, env)
	if err != nil {
		return nil, err
	}
	dir, err := HeadDir(ctx, store, conf, env)
	if err != nil {
		return nil, exit.New(exit.Usage, "%w", err)
	}
	return dir, nil
}

// heads keeps the head of a run's ledger up to date, on a goroutine of its own
// and never in the way of an entry. What goes wrong is told once and ends
// nothing.
type heads struct {
	app  *App
	dir  *anchor.Dir
	stop chan struct{}
	done chan struct{}
	told map[string]bool // only the goroutine, then end
	size uint64          // of the last head that was kept
}

func keepHeads(a *App) *heads {
	h := &heads{app: a, stop: make(chan struct{}), done: make(chan struct{}), told: map[string]bool{}}
	go h.run()
	return h
}

func (h *heads) run() {
	defer close(h.done)
	h.check()
	var clock gate.Clock = gate.SystemClock{}
	if h.app.opt.Clock != nil {
		clock = h.app.opt.Clock
	}
	for {
		due := make(chan struct{})
		cancel := clock.AfterFunc(HeadInterval, func() { close(due) })
		select {
		case <-due:
			h.update()
		case <-h.stop:
			cancel()
			return
		}
	}
}

// check tells at the start of a run when the ledger is not the one that its head
// was taken of.
func (h *heads) check() {
	ctx, cancel := context.WithTimeout(context.Background(), headWait)
	defer cancel()
	var err error
	if h.dir, err = HeadDir(ctx, h.app.store, h.app.conf, h.app.env); err != nil {
		h.tell(err)
		return
	}
	head, err := h.dir.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return // the first is made when there is something to keep
	}
	if err == nil {
		h.size = head.Size
		var size uint64
		if size, err = h.app.store.LedgerSize(ctx); err == nil {
			err = anchor.Check(ctx, h.app.store, head.Checkpoint, size)
		}
	}
	h.tell(err)
}

func (h *heads) update() {
	if h.dir == nil {
		return // it was told why
	}
	ctx, cancel := context.WithTimeout(context.Background(), headWait)
	defer cancel()
	head, err := h.dir.Update(ctx, h.app.store)
	if errors.Is(err, anchor.ErrEmpty) {
		return // nothing to keep yet
	}
	if err == nil {
		h.size = head.Size
	}
	h.tell(err)
}

// tell says once what is wrong.
func (h *heads) tell(err error) {
	if err == nil {
		return
	}
	n := event.Notice{Code: codeHeadUnkept, Level: "warn", Text: "the ledger's head is not kept: " + err.Error()}
	var wrong *ledger.HeadError
	var damaged *anchor.DamagedError
	if errors.As(err, &wrong) || errors.As(err, &damaged) {
		n = event.Notice{Code: codeHeadMismatch, Level: "error", Text: err.Error() + "; looprig ledger verify says more"}
	}
	if h.told[n.Code] {
		return
	}
	h.told[n.Code] = true
	// A notice that cannot be journaled leaves the session latched, which says so.
	_ = h.app.Session.Publish(context.Background(), &n)
}

// end stops the goroutine and brings the head up to date while the session can
// still be told what went wrong. Last takes in what the session's own end added.
func (h *heads) end() {
	if h == nil {
		return
	}
	close(h.stop)
	<-h.done
	h.update()
}

func (h *heads) last(ctx context.Context) {
	if h == nil || h.dir == nil {
		return
	}
	if size, err := h.app.store.LedgerSize(ctx); err != nil || size == h.size {
		return
	}
	_, _ = h.dir.Update(ctx, h.app.store) // what went wrong was told before
}
