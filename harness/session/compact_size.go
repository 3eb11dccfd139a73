package session

import (
	"unicode/utf8"

	"github.com/looprig/looprig/harness/content"
)

// What is reserved of a model's context for its answer: a quarter, and no more
// than this.
const maxAnswerReserve = 8192

// What a message costs beside its text, and what a picture is taken for.
const (
	messageTokens = 4
	mediaTokens   = 1600
)

// measure is what is known of how much a loop's history takes: what the model
// last reported, and which messages that was about.
type measure struct {
	messages int // the first so many messages, with system text and tools,
	tokens   int // took so many tokens; 0 where the model has not said
	window   int // of the model's context, learned from a refusal; 0 for unknown
}

// tokensOfText estimates tokens: four characters of ASCII each, and about one a
// character of other scripts.
func tokensOfText(s string) int {
	runes := utf8.RuneCountInString(s)
	return (runes+3)/4 + (len(s)-runes+1)/2
}

func tokensOfBlock(b content.Block) int {
	n := tokensOfText(b.Text) + tokensOfText(b.Name) + tokensOfText(b.URI) + tokensOfText(b.Title) + tokensOfText(b.Description) + tokensOfText(string(b.JSON))
	if b.State != nil {
		n += len(b.State.Data) / 4
	}
	if b.Kind == content.KindImage || b.Kind == content.KindAudio {
		n += mediaTokens
	}
	for _, x := range b.Blocks {
		n += tokensOfBlock(x)
	}
	return n
}

func tokensOfMessages(history []content.Message) int {
	n := 0
	for _, m := range history {
		n += messageTokens
		for _, b := range m.Blocks {
			n += tokensOfBlock(b)
		}
	}
	return n
}

// fixed is what every request of the turn takes beside the history.
func (t *turn) fixed() int {
	n := tokensOfText(t.systemText())
	for _, d := range t.set.Definitions() {
		if d.Deferred && !t.isOpen(d) {
			continue
		}
		if d.Tokens > 0 {
			n += d.Tokens
		} else {
			n += tokensOfText(d.Name) + tokensOfText(d.Description) + tokensOfText(string(d.InputSchema))
		}
	}
	return n
}

// needs estimates what the next request takes: what the model reported of the
// messages that it has seen, and an estimate of the rest.
func (t *turn) needs() int {
	if m := t.measured; m.tokens > 0 && m.messages <= len(t.history) {
		return m.tokens + tokensOfMessages(t.history[m.messages:])
	}
	return t.fixed() + tokensOfMessages(t.history)
}

// window is the size of the model's context, 0 where nobody knows it.
func (t *turn) window() int {
	w := t.model.Info().ContextTokens
	if l := t.measured.window; l > 0 && (w == 0 || l < w) {
		w = l
	}
	return w
}

// roomIn is how much of a context a request may take.
func roomIn(window int) int { return window - min(window/4, maxAnswerReserve) }

// remember takes over what the model reported of a request, once its answer is
// part of the history.
func (t *turn) remember(input, output int) {
	if input > 0 {
		t.measured.messages, t.measured.tokens = len(t.history), input+output
	}
}
