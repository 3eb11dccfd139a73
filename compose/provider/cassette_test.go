package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// cassettesVariable names the directory of the recordings, which are no part of
// this module.
const cassettesVariable = "LOOPRIG_CASSETTES"

// cassette is a recording in the second format of VCR.
type cassette struct {
	Interactions []interaction `yaml:"interactions"`
}

type interaction struct {
	Request struct {
		Body string `yaml:"body"`
		URL  string `yaml:"url"`
	} `yaml:"request"`
	Response struct {
		Body    string              `yaml:"body"`
		Headers map[string][]string `yaml:"headers"`
		Code    int                 `yaml:"code"`
	} `yaml:"response"`
}

// expected is a line of testdata/recorded.jsonl: what an interaction says, read
// by another program than the one under test. Texts are "bytes:sha256".
type expected struct {
	Cassette  string               `json:"cassette"`
	N         int                  `json:"n"`
	Stop      string               `json:"stop"`
	In        int                  `json:"in"`
	Out       int                  `json:"out"`
	Text      string               `json:"text"`
	Reasoning string               `json:"reasoning"`
	Calls     [][2]json.RawMessage `json:"calls"`
}

func cassettes(t *testing.T) (dir string, names []string) {
	t.Helper()
	dir = os.Getenv(cassettesVariable)
	if dir == "" {
		t.Skipf("%s is not set: no recorded traffic to replay", cassettesVariable)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".yaml") {
			rel, relErr := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(rel))
			return relErr
		}
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatalf("%s has no recordings: %v", dir, err)
	}
	return dir, names
}

func load(t *testing.T, dir, name string) cassette {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	var c cassette
	if err := yaml.Unmarshal(raw, &c); err != nil || len(c.Interactions) == 0 {
		t.Fatalf("%s: %d interactions, %v", name, len(c.Interactions), err)
	}
	return c
}

func loadExpected(t *testing.T) map[string][]expected {
	t.Helper()
	raw, err := os.ReadFile("testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]expected{}
	for line := range bytes.Lines(raw) {
		var e expected
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		out[e.Cassette] = append(out[e.Cassette], e)
	}
	return out
}

// Every recording, whole and in pieces of 37 bytes, says what another reader of
// it says, and our requests are the recorded ones but for the allowed
// differences, of which none is superfluous.
func TestCassettes(t *testing.T) {
	dir, names := cassettes(t)
	want, allowed := loadExpected(t), loadAllowed(t)
	replayed := 0
	for _, name := range names {
		c := load(t, dir, name)
		if len(want[name]) != len(c.Interactions) {
			t.Errorf("%s: %d interactions, %d expected", name, len(c.Interactions), len(want[name]))
			continue
		}
		for _, piece := range []int{0, 37} {
			if err := replay(name, c, want[name], allowed, piece); err != nil {
				t.Errorf("%s (pieces of %d): %v", name, piece, err)
			}
		}
		replayed += len(c.Interactions)
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is expected and not there", name)
	}
	for _, a := range allowed {
		if !a.used {
			t.Errorf("the allowed difference of %v at %s (%s) is never needed", a.Kinds, a.Path, a.Cassettes)
		}
	}
	t.Logf("%d recordings, %d interactions, none skipped", len(names), replayed)
}

// A recording that is changed is noticed, whatever the change.
func TestChangedCassettesFail(t *testing.T) {
	dir, names := cassettes(t)
	want, allowed := loadExpected(t), loadAllowed(t)
	changes := map[string]func(*interaction) bool{
		"a torn answer": func(i *interaction) bool {
			i.Response.Body = i.Response.Body[:len(i.Response.Body)*3/5]
			return true
		},
		"another text": func(i *interaction) bool { return swap(&i.Response.Body, "Florence", "Firenze") },
		"other usage": func(i *interaction) bool {
			return swap(&i.Response.Body, `put_tokens":`, `put_tokens":9`) || swap(&i.Response.Body, `ompt_tokens":`, `ompt_tokens":9`) ||
				swap(&i.Response.Body, `promptTokenCount": `, `promptTokenCount": 9`)
		},
		"another reason to stop": func(i *interaction) bool {
			return swap(&i.Response.Body, `finish_reason":"stop"`, `finish_reason":"length"`) || swap(&i.Response.Body, `"end_turn"`, `"max_tokens"`) ||
				swap(&i.Response.Body, `finishReason": "STOP"`, `finishReason": "MAX_TOKENS"`)
		},
		"another system text": func(i *interaction) bool { return swap(&i.Request.Body, "helpful", "helpless") },
		"another schema":      func(i *interaction) bool { return swap(&i.Request.Body, `"the city"`, `"the town"`) },
		"another result":      func(i *interaction) bool { return swap(&i.Request.Body, `40 C`, `41 C`) },
		"one more field": func(i *interaction) bool {
			i.Request.Body = strings.Replace(i.Request.Body, "{", `{"seed":1,`, 1)
			return true
		},
	}
	for what, change := range changes {
		noticed, made := 0, 0
		for _, name := range names {
			if !strings.Contains(name, "/tool") || strings.Contains(name, "multi") {
				continue
			}
			c := load(t, dir, name)
			c.Interactions = slices.Clone(c.Interactions)
			changed := false
			for n := range c.Interactions {
				changed = change(&c.Interactions[n]) || changed
			}
			if !changed {
				continue
			}
			made++
			// The prompt of a replay is taken from the recording, so a request is
			// compared with that of the recording before the change.
			if err := replayAgainst(name, load(t, dir, name), c, want[name], allowed, 0); err == nil {
				t.Errorf("%s: %s is not noticed", name, what)
			} else {
				noticed++
			}
		}
		if made == 0 || noticed != made {
			t.Errorf("%s: made %d times, noticed %d times", what, made, noticed)
		}
	}
}

func swap(s *string, from, to string) bool {
	if !strings.Contains(*s, from) {
		return false
	}
	*s = strings.ReplaceAll(*s, from, to)
	return true
}

// recorded plays one answer and keeps what was asked.
type recorded struct {
	answer interaction
	piece  int
	asked  []byte
	url    string
}

func (r *recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.asked, r.url = body, req.URL.String()
	src := io.Reader(strings.NewReader(r.answer.Response.Body))
	if r.piece > 0 {
		src = &pieces{src, r.piece}
	}
	return &http.Response{
		StatusCode: r.answer.Response.Code, Status: http.StatusText(r.answer.Response.Code), ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header(r.answer.Response.Headers), Body: io.NopCloser(src), Request: req, ContentLength: -1,
	}, nil
}

// pieces gives at most n bytes at once.
type pieces struct {
	src io.Reader
	n   int
}

func (p *pieces) Read(b []byte) (int, error) { return p.src.Read(b[:min(len(b), p.n)]) }

// replay plays a recording through the client of its kind.
func replay(name string, c cassette, want []expected, allowed []*difference, piece int) error {
	return replayAgainst(name, c, c, want, allowed, piece)
}

// replayAgainst takes the prompts from one recording, the answers and the
// requests to compare with from another.
func replayAgainst(name string, prompts, c cassette, want []expected, allowed []*difference, piece int) error {
	s, err := newScene(prompts.Interactions[0])
	if err != nil {
		return err
	}
	for n, i := range c.Interactions {
		req, err := s.request(prompts.Interactions[n])
		if err != nil {
			return fmt.Errorf("interaction %d: %w", n, err)
		}
		rt := &recorded{answer: i, piece: piece}
		cfg := s.config
		cfg.HTTP = &http.Client{Transport: rt}
		client, err := New(cfg)
		if err != nil {
			return err
		}
		said, err := assemble(client.Stream(s.ctx, req))
		if err != nil {
			return fmt.Errorf("interaction %d: %w", n, err)
		}
		if rt.url != i.Request.URL {
			return fmt.Errorf("interaction %d: asked %s, recorded %s", n, rt.url, i.Request.URL)
		}
		if err := compareBodies(name, s.config.Kind, rt.asked, []byte(i.Request.Body), allowed); err != nil {
			return fmt.Errorf("interaction %d: %w", n, err)
		}
		if err := said.check(want[n]); err != nil {
			return fmt.Errorf("interaction %d: %w", n, err)
		}
		s.heard(said)
	}
	return nil
}

var _ http.RoundTripper = (*recorded)(nil)
