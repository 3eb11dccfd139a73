// Package gates puts the questions of gates on the screen and turns key presses
// into answers. It decides nothing itself: an answer is returned to the caller,
// who sends it.
//
// Two rules protect a person who is typing. A gate that opens by itself takes
// no key until the keyboard has been quiet for Quiet; and a gate that closes by
// itself goes on absorbing keys for the same time, so that nothing falls
// through to what lies below. A call that is destructive or not pinned has no
// preselected choice.
//
// Whatever a server wrote stands in a gutter that marks it as the server's. The
// package must not import anything of the interface but cells, theme, keymap,
// list, formview and transcript.
package gates

import (
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/tui/formview"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/list"
	"github.com/looprig/looprig/tui/theme"
)

// Quiet is how long the keyboard must rest before a gate that opened by itself
// takes keys.
const Quiet = 400 * time.Millisecond

// maxReason bounds the sentence for the model, in characters.
const maxReason = 500

// Do is what a key press asks the caller to do.
type Do uint8

// The requests.
const (
	Nothing  Do = iota
	Answer      // send Response
	OpenURL     // open URL, then send Response
	CopyURL     // copy URL, then send Response
	Minimise    // put the gate back into the queue
	Dismiss     // the gate is closed; take it off the screen
)

// Action is the result of a key press.
type Action struct {
	Do       Do
	Response gate.Response
	URL      string
}

// Options describe a gate on the screen.
type Options struct {
	Envelope gate.Envelope
	Keys     *keymap.Map
	Theme    *theme.Theme
	Now      time.Time
	// Asked says that the person opened the gate, so that no key was meant for
	// something else.
	Asked bool
	// Remote says that the terminal is on another machine.
	Remote bool
}

// Gate is one gate on the screen. It is not safe for concurrent use.
type Gate struct {
	o       Options
	env     gate.Envelope
	form    *formview.Form
	pager   list.Pager
	quiet   time.Time // when the last key came, while not armed
	armed   bool
	sending bool
	fault   string
	closed  string
	closedQ time.Time

	cursor  int // row of calls and choices; -1 selects nothing
	checked []bool
	own     []own // of a batch: the calls' own answers
	full    bool  // every argument, or the full address
	exact   bool  // a grant is for these arguments alone
	writing bool  // the reason of a denial is being written
	about   int   // the call of a batch whose denial that is, -1 for the whole gate
	reason  []rune
	cache   bodyCache
	edit    *editor // of a sampling gate, once something is written
	editing bool    // keys go to it
	leaving bool    // the person was told that leaving forgets the text
}

// New puts a gate on the screen.
func New(o Options) *Gate {
	g := &Gate{o: o, env: o.Envelope, quiet: o.Now, armed: o.Asked, cursor: -1}
	switch g.env.Kind {
	case gate.KindForm:
		g.openForm()
	case gate.KindAskUser:
		g.openQuestion()
	case gate.KindSampling:
		g.openSampling()
	case gate.KindPermission:
		g.checked, g.own = make([]bool, len(g.env.Prompt.Calls)), make([]own, len(g.env.Prompt.Calls))
		careful := false
		for i, c := range g.env.Prompt.Calls {
			g.checked[i] = !Explicit(c)
			careful = careful || Explicit(c)
		}
		if !careful {
			g.cursor = g.firstChoice()
		}
	default:
	}
	return g
}

// openForm builds the fields; a form without any is asked as a confirmation.
func (g *Gate) openForm() {
	var s form.Schema
	if g.env.Prompt.Schema != nil {
		s = *g.env.Prompt.Schema
	}
	f, err := formview.New(formview.Options{
		Schema: s, Message: g.env.Prompt.Body, Foreign: g.env.Prompt.Origin != gate.OriginHost, Decline: true,
		Note: "text beside │ is the server's, not verified · answers are kept in the journal", Keys: g.o.Keys, Theme: g.o.Theme,
	})
	if err == nil {
		g.form = f
	}
}

// ID is the gate's id.
func (g *Gate) ID() string { return g.env.ID }

// Form reports a gate that is answered in a form.
func (g *Gate) Form() bool { return g.form != nil }

// Envelope is the gate that is shown.
func (g *Gate) Envelope() gate.Envelope { return g.env }

// SetTheme draws in other colours.
func (g *Gate) SetTheme(th *theme.Theme) {
	g.o.Theme = th
	g.cache = bodyCache{}
	if g.form != nil {
		g.form.SetTheme(th)
	}
	if g.edit != nil {
		g.edit.setTheme(th)
	}
}

// Failed says why an answer was not taken; the gate is still open.
func (g *Gate) Failed(err error) {
	g.sending = false
	if g.form != nil {
		g.form.SetError(err)
		return
	}
	g.fault = err.Error()
}

// Sent says that the answer is on its way; keys are absorbed until it is
// taken, refused, or the gate is taken off the screen.
func (g *Gate) Sent() { g.sending, g.fault = true, "" }

// Close says that the gate closed by itself. It stays, absorbing keys, until
// the keyboard has been quiet.
func (g *Gate) Close(why string, now time.Time) { g.closed, g.closedQ = why, now }

// Waiting reports whether the gate changes within a second by the mere passing of
// time: it is about to take keys, or to leave. A deadline is told in seconds at the
// least.
func (g *Gate) Waiting(now time.Time) bool {
	return g.closed != "" || !g.armed && now.Sub(g.quiet) < Quiet
}

// Expired reports that a closed gate has absorbed enough.
func (g *Gate) Expired(now time.Time) bool { return g.closed != "" && now.Sub(g.closedQ) >= Quiet }

// absorbs reports whether a key that comes now is taken by nobody.
func (g *Gate) absorbs(now time.Time) bool {
	if g.closed != "" {
		g.closedQ = now
		return true
	}
	if g.armed {
		return g.sending
	}
	if now.Sub(g.quiet) < Quiet {
		g.quiet = now
		return true
	}
	g.armed = true
	return g.sending
}

// Key handles a key press.
func (g *Gate) Key(k tea.KeyPressMsg, now time.Time) Action {
	if g.absorbs(now) {
		return Action{}
	}
	if id, _ := g.o.Keys.Match(k, keymap.Global); id == keymap.OpenGate {
		return g.putAside(k)
	}
	leaving := g.leaving
	g.leaving = false
	switch {
	case g.form != nil:
		return g.formKey(k, leaving)
	case g.writing:
		return g.reasonKey(k)
	}
	switch g.env.Kind {
	case gate.KindPermission:
		return g.permissionKey(k)
	case gate.KindOpenURL:
		return g.urlKey(k)
	case gate.KindUntrustedServer:
		return g.serverKey(k)
	case gate.KindSampling:
		return g.samplingKey(k)
	default:
	}
	return g.confirmKey(k)
}

// putAside minimises the gate. A text that has been written would be forgotten
// with that, which takes a second press.
func (g *Gate) putAside(k tea.KeyPressMsg) Action {
	if g.edit == nil || g.leaving || g.edit.text() == g.edit.first {
		return Action{Do: Minimise}
	}
	g.leaving = true
	g.fault = "putting this aside forgets what was written: " + keymap.Pretty(k.String()) + " again does so"
	return Action{}
}

// Paste goes to the form, the reason of a denial or the text that is being
// edited; it never answers.
func (g *Gate) Paste(text string, now time.Time) {
	if g.absorbs(now) {
		return
	}
	if g.form != nil {
		g.form.Paste(text)
		return
	}
	if g.editing {
		g.fault = g.edit.paste(text)
		return
	}
	if g.writing {
		g.write(text)
	}
}

func answer(a gate.Action) Action { return Action{Do: Answer, Response: gate.Response{Action: a}} }

// formKey handles a key of a form. Leaving one that something is written in
// takes a second press; declining, a key of its own, does not.
func (g *Gate) formKey(k tea.KeyPressMsg, leaving bool) Action {
	asked := g.env.Kind == gate.KindAskUser
	if leaving {
		g.form.Remark("")
	}
	out := g.form.Key(k)
	if out == formview.Cancelled && !leaving && g.form.Written() {
		g.leaving = true
		g.form.Remark("this forgets what is written: " + keymap.Pretty(k.String()) + " again does so; F6 puts it aside")
		return Action{}
	}
	switch out {
	case formview.Submitted:
		if asked {
			return Action{Do: Answer, Response: g.questionAnswer()}
		}
		return Action{Do: Answer, Response: gate.Response{Action: gate.ActionSubmit, Values: g.form.Object()}}
	case formview.Declined, formview.Cancelled:
		switch {
		case asked:
			return answer(gate.ActionDismiss)
		case out == formview.Cancelled:
			return answer(gate.ActionCancel)
		}
		return answer(gate.ActionDecline)
	default:
	}
	return Action{}
}

// confirmKey answers a confirmation, and a form that has no fields.
func (g *Gate) confirmKey(k tea.KeyPressMsg) Action {
	id, _ := g.o.Keys.Match(k, keymap.GateConfirm)
	switch id {
	case keymap.ConfirmYes:
		if g.env.Kind == gate.KindForm {
			return Action{Do: Answer, Response: gate.Response{Action: gate.ActionSubmit, Values: []byte("{}")}}
		}
		return answer(gate.ActionAccept)
	case keymap.ConfirmNo:
		return answer(gate.ActionDecline)
	case keymap.ConfirmCancel:
		return answer(gate.ActionCancel)
	default:
	}
	g.pager.Key(k, g.o.Keys)
	return Action{}
}

func (g *Gate) urlKey(k tea.KeyPressMsg) Action {
	id, _ := g.o.Keys.Match(k, keymap.GateURL)
	url := g.env.Private.URL
	switch id {
	case keymap.URLOpen:
		if url == "" {
			g.fault = "the address is not known here; answer where the session runs"
			return Action{}
		}
		return Action{Do: OpenURL, URL: url, Response: gate.Response{Action: gate.ActionOpen}}
	case keymap.URLCopy:
		if url == "" {
			g.fault = "the address is not known here; answer where the session runs"
			return Action{}
		}
		return Action{Do: CopyURL, URL: url, Response: gate.Response{Action: gate.ActionCopy}}
	case keymap.URLFull:
		g.full = !g.full
		return Action{}
	case keymap.URLDecline:
		return answer(gate.ActionDecline)
	case keymap.URLCancel:
		return answer(gate.ActionCancel)
	default:
	}
	g.pager.Key(k, g.o.Keys)
	return Action{}
}

func (g *Gate) serverKey(k tea.KeyPressMsg) Action {
	id, _ := g.o.Keys.Match(k, keymap.GateServer)
	switch id {
	case keymap.ServerAccept:
		a := answer(gate.ActionAccept)
		a.Response.Fingerprint = g.env.Prompt.Fingerprint
		return a
	case keymap.ServerOnce:
		return answer(gate.ActionOnce)
	case keymap.ServerRefuse:
		return answer(gate.ActionRefuse)
	case keymap.ServerLater:
		return Action{Do: Minimise}
	default:
	}
	g.pager.Key(k, g.o.Keys)
	return Action{}
}
