package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

func sampling(change ...func(*SamplingPrompt)) Request {
	p := &SamplingPrompt{
		Stage: SamplingRequest, System: "You summarise.", Model: "small", MaxTokens: 800, Context: "none",
		Messages: []SamplingMessage{{Role: "user", Kind: "text", Text: "Summarise this."}}, Budget: 50_000, Editable: true, Digest: "sha256:11",
	}
	for _, f := range change {
		f(p)
	}
	return Request{Kind: KindSampling, Subject: Subject{Binding: "tracker"}, Prompt: Prompt{Title: "tracker asks the model to write", Origin: OriginHost, Sampling: p}}
}

func fixed(p *SamplingPrompt)   { p.Editable = false }
func reply(p *SamplingPrompt)   { p.Stage, p.Reply, p.Editable = SamplingReply, "It timed out.", false }
func written(p *SamplingPrompt) { p.Stage, p.Written, p.Editable = SamplingReply, true, false }

func TestSamplingAnswersMustFit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxTextBytes+1)
	cases := map[string]struct {
		req   Request
		r     Response
		field string // "-" for an answer that fits
	}{
		"run":                        {sampling(), Response{Action: ActionRun}, "-"},
		"run with a text":            {sampling(), Response{Action: ActionRun, Text: "x"}, "text"},
		"edit":                       {sampling(), Response{Action: ActionEdit, Text: "Summarise it briefly."}, "-"},
		"edit without a text":        {sampling(), Response{Action: ActionEdit}, "text"},
		"edit of blanks":             {sampling(), Response{Action: ActionEdit, Text: " \n\t"}, "text"},
		"edit of what is fixed":      {sampling(fixed), Response{Action: ActionEdit, Text: "x"}, ""},
		"decline":                    {sampling(), Response{Action: ActionDecline}, "-"},
		"decline with a text":        {sampling(), Response{Action: ActionDecline, Text: "x"}, "text"},
		"cancel":                     {sampling(), Response{Action: ActionCancel}, "-"},
		"submit":                     {sampling(), Response{Action: ActionSubmit}, ""},
		"values":                     {sampling(), Response{Action: ActionRun, Values: json.RawMessage(`{}`)}, ""},
		"reply":                      {sampling(reply), Response{Action: ActionRun}, "-"},
		"edited reply":               {sampling(reply), Response{Action: ActionEdit, Text: "Too slow."}, "-"},
		"reply edited to nothing":    {sampling(reply), Response{Action: ActionEdit}, "text"},
		"written reply":              {sampling(written), Response{Action: ActionRun, Text: "I wrote it."}, "-"},
		"written reply by edit":      {sampling(written), Response{Action: ActionEdit, Text: "I wrote it."}, "-"},
		"unwritten reply":            {sampling(written), Response{Action: ActionRun}, "text"},
		"blank reply":                {sampling(written), Response{Action: ActionRun, Text: "  "}, "text"},
		"declined reply":             {sampling(written), Response{Action: ActionDecline}, "-"},
		"longest":                    {sampling(written), Response{Action: ActionRun, Text: long[1:]}, "-"},
		"too long":                   {sampling(written), Response{Action: ActionRun, Text: long}, "text"},
		"not UTF-8":                  {sampling(written), Response{Action: ActionRun, Text: "\xff"}, "text"},
		"text of another kind":       {Request{Kind: KindConfirm}, Response{Action: ActionAccept, Text: "x"}, "text"},
		"text of a permission":       {Request{Kind: KindPermission}, Response{Action: ActionDeny, Text: "x"}, "text"},
		"a permission without calls": {Request{Kind: KindPermission}, Response{Action: ActionOnce}, "-"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := NewHost(HostOptions{})
			e := mustOpen(t, h, c.req)
			c.r.Answerer = person
			err := h.Respond(e.ID, c.r)
			if c.field == "-" {
				if err != nil {
					t.Fatal(err)
				}
				if got := await(t, h, e.ID); got.Action != c.r.Action || got.Text != c.r.Text {
					t.Errorf("%+v", got)
				}
				return
			}
			var invalid *InvalidAnswerError
			if !errors.As(err, &invalid) || invalid.Field != c.field {
				t.Fatalf("%v", err)
			}
			if len(h.Gates()) != 1 {
				t.Error("the gate closed")
			}
		})
	}
}

func TestSamplingGateNeedsItsRequest(t *testing.T) {
	t.Parallel()
	h := NewHost(HostOptions{})
	none, stage := sampling(), sampling(func(p *SamplingPrompt) { p.Stage = "later" })
	none.Prompt.Sampling = nil
	for _, r := range []Request{none, stage} {
		if _, err := h.Open(r); err == nil {
			t.Errorf("%+v opened", r.Prompt.Sampling)
		}
	}
}

func TestUnansweredSampling(t *testing.T) {
	t.Parallel()
	for why, want := range map[CloseReason]Action{
		ReasonPolicy: ActionDecline, ReasonTimedOut: ActionCancel, ReasonWithdrawn: ActionCancel, ReasonSessionClosed: ActionCancel,
	} {
		h := NewHost(HostOptions{})
		e := mustOpen(t, h, sampling())
		if err := h.Close(e.ID, why, "detail"); err != nil {
			t.Fatal(err)
		}
		if r := await(t, h, e.ID); r.Action != want || r.Close != why || r.Text != "" || r.Detail != "detail" {
			t.Errorf("%s: %+v", why, r)
		}
	}
}

// The encodings are part of the journal's format.
func TestSamplingEncoding(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0).UTC()
	image := func(p *SamplingPrompt) {
		p.Messages = append(p.Messages, SamplingMessage{Role: "user", Kind: "image", MIME: "image/png", Bytes: 3, Digest: "sha256:22"})
		p.Hints, p.Spent = []string{"small", "fast"}, 120
	}
	envelope := func(r Request) Envelope {
		return Envelope{ID: "g1", Kind: r.Kind, Subject: r.Subject, Prompt: r.Prompt, OpenedAt: at, Private: Private{URL: "https://canary"}}
	}
	for name, v := range map[string]any{
		"sampling_request": envelope(sampling(image)), "sampling_reply": envelope(sampling(reply)), "sampling_written": envelope(sampling(written)),
		"sampling_edited": Response{Action: ActionEdit, Answerer: person, Text: "Summarise it."},
	} {
		got, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		path := filepath.Join("testdata", name+".json")
		if *update {
			if err := os.WriteFile(path, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s changed (%v):\n%s", path, err, got)
		}
		if bytes.Contains(got, []byte("canary")) {
			t.Errorf("%s holds a private part", name)
		}
	}
}
