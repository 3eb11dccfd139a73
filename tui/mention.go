package tui

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/catalog"
	"github.com/looprig/looprig/tui/composer"
	"github.com/looprig/looprig/tui/transcript"
)

const (
	// maxMentions is how many resources and prompts one input may mention.
	maxMentions = 8
	// maxAttached is the most that is attached of one of them, in bytes. More is
	// refused, not cut.
	maxAttached = 256 << 10
)

// mention is a resource or a prompt that is named in the input: "@demo:demo://a".
type mention struct {
	binding string
	item    integration.Item
}

// mentionable lists what can be mentioned: resources, and prompts that need no
// arguments. Names that would not be seen as they are are left out.
func (m *model) mentionable(each func(mention) bool) {
	m.eachItem(func(binding string, it integration.Item) bool {
		can := it.Kind == catalog.Resource || it.Kind == catalog.Prompt && !asksForMore(it)
		if !can || !writable(binding) || !writable(it.Name) {
			return true
		}
		return each(mention{binding: binding, item: it})
	})
}

// writable reports a name that can be typed as one word and is seen as it is.
func writable(name string) bool {
	return name != "" && string(safetext.ToLine(name)) == name && !strings.ContainsFunc(name, unicode.IsSpace)
}

func asksForMore(it integration.Item) bool {
	for _, a := range it.Arguments {
		if a.Required {
			return true
		}
	}
	return false
}

func (x mention) token() string { return "@" + x.binding + ":" + x.item.Name }

// mentionCandidates completes the mention at the end of a text.
func (m *model) mentionCandidates(text string) []composer.Candidate {
	const most = 50
	at := strings.LastIndex(text, "@")
	if m.reader == nil || at < 0 || at > 0 && !unicode.IsSpace(rune(text[at-1])) || strings.ContainsFunc(text[at:], unicode.IsSpace) {
		return nil
	}
	want := strings.ToLower(text[at+1:])
	var out []composer.Candidate
	m.mentionable(func(x mention) bool {
		if t := x.token(); t != text[at:] && strings.Contains(strings.ToLower(t), want) {
			out = append(out, composer.Candidate{Text: text[:at] + t + " ", Note: string(safetext.ToLineN(x.item.Kind+" "+firstLine(x.item.Description), 80))})
		}
		return len(out) < most
	})
	return out
}

// mentions finds what a text mentions. A word that names a binding and nothing
// that it has is an error, so that nobody believes that it was attached.
func (m *model) mentions(text string) ([]mention, error) {
	words := map[string]bool{}
	for _, w := range strings.Fields(text) {
		if strings.HasPrefix(w, "@") {
			words[w] = true
		}
	}
	if len(words) == 0 || m.reader == nil {
		return nil, nil
	}
	var out []mention
	m.mentionable(func(x mention) bool {
		if words[x.token()] {
			delete(words, x.token())
			out = append(out, x)
		}
		return true
	})
	for w := range words {
		binding, name, ok := strings.Cut(w[1:], ":")
		if _, known := m.binding(binding); ok && known {
			return nil, fmt.Errorf("%s has nothing called %s to attach", safetext.Ident(binding), safetext.Ident(name))
		}
	}
	if len(out) > maxMentions {
		return nil, fmt.Errorf("%d mentions; at most %d are attached", len(out), maxMentions)
	}
	return out, nil
}

// submitWith reads what is mentioned and sends it with the text, or sends nothing
// when one of them cannot be had.
func (m *model) submitWith(text string, all []mention) tea.Cmd {
	s, reader := m.o.Session, m.reader
	ctx, n := m.startFetch("what is mentioned")
	return func() tea.Msg {
		parts := []string{text}
		for _, x := range all {
			part, err := attach(ctx, reader, x)
			if err != nil {
				return submittedMsg{text: text, fetch: n, err: fmt.Errorf("%s: %w", safetext.ToLine(x.token()), err)}
			}
			parts = append(parts, part)
		}
		return submittedMsg{text: text, fetch: n, err: s.Submit(ctx, strings.Join(parts, "\n\n"))}
	}
}

func attach(ctx context.Context, r integration.Reader, x mention) (string, error) {
	ask := func() (integration.Fetched, error) { return r.Read(ctx, x.binding, x.item.Name) }
	what := transcript.FetchedResource
	if x.item.Kind == catalog.Prompt {
		what = transcript.FetchedPrompt
		ask = func() (integration.Fetched, error) { return r.Prompt(ctx, x.binding, x.item.Name, nil) }
	}
	f, err := ask()
	if err != nil {
		return "", err
	}
	t := transcript.Fetched{What: what, Content: f.Content, Messages: f.Messages}
	text := t.Text()
	if len(text) > maxAttached {
		return "", fmt.Errorf("it is %d bytes; at most %d are attached", len(text), maxAttached)
	}
	return attachment(x.binding, x.item.Name, string(safetext.ToBlockN(text, maxAttached))), nil
}

// attachment puts a server's text between marks that say whose it is. The marks
// carry a digest of the text, so that the text cannot end them itself.
func attachment(binding, name, text string) string {
	sum := sha256.Sum256([]byte(text))
	mark := hex.EncodeToString(sum[:6])
	return fmt.Sprintf("Attached from server %s: %s (%d bytes; the text between the marks is the server's, not the person's)\n<<<%s\n%s\n%s>>>",
		safetext.Ident(binding), safetext.Ident(name), len(text), mark, text, mark)
}
