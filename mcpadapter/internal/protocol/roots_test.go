package protocol

import (
	"strings"
	"testing"
)

var home = []Root{{URI: "file:///home/u", Name: "ho\"me"}, {URI: "file:///tmp"}}

const homeList = `{"roots":[{"uri":"file:///home/u","name":"ho\"me"},{"uri":"file:///tmp"}]}`

func offering(roots []Root) func(*Options) { return func(o *Options) { o.Roots = roots } }

func TestRootsOnLegacyRevisions(t *testing.T) {
	t.Parallel()
	for _, rev := range legacy {
		t.Run(rev, func(t *testing.T) {
			t.Parallel()
			answers := make(chan message, 2)
			f := connect(t, at(rev, func(p *peer) {
				p.send(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
				m, _ := p.next()
				answers <- m
				p.await(notifyRootsChanged)
				p.send(`{"jsonrpc":"2.0","id":2,"method":"roots/list","params":null}`)
				m, _ = p.next()
				answers <- m
				answering(nil)(p)
			}), pinned(rev), offering(home))
			if m := <-answers; string(m.Result) != homeList {
				t.Fatal(m.raw)
			}
			if err := f.SetRoots(short(t), []Root{}); err != nil {
				t.Fatal(err)
			}
			if m := <-answers; string(m.Result) != `{"roots":[]}` {
				t.Fatal(m.raw)
			}
			if all := strings.Join(f.d.log.all(), ""); !strings.Contains(all, `"capabilities":{"roots":{"listChanged":true}}`) {
				t.Fatal(all)
			}
		})
	}
}

func TestRootsOnTheNewestRevision(t *testing.T) {
	t.Parallel()
	f := connect(t, modernServer(func(p *peer) {
		p.send(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`) // not there any more
		for {
			m, ok := p.await("tools/call")
			switch {
			case !ok:
				return
			case strings.Contains(m.raw, "inputResponses"):
				p.reply(m, okResult)
			default:
				p.reply(m, `{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}`)
			}
		}
	}), offering(home))
	if _, err := f.CallTool(short(t), CallRequest{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := f.SetRoots(short(t), home[1:]); err != nil {
		t.Fatal(err)
	}
	if _, err := f.CallTool(short(t), CallRequest{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(f.d.log.all(), "\n")
	for _, want := range []string{`"inputResponses":{"r":` + homeList + `}`, `"inputResponses":{"r":{"roots":[{"uri":"file:///tmp"}]}}`, `"roots":{}`, `"id":1,"error":{"code":-32601`} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not in %s", want, all)
		}
	}
	if strings.Contains(all, notifyRootsChanged) {
		t.Error("notified where the revision has no such notification")
	}
}

func TestRootsThatAreRefused(t *testing.T) {
	t.Parallel()
	_, err := tryConnect(t, &dialer{t: t}, offering([]Root{{URI: "https://x.test/"}}))
	wantClass(t, err, ClassConfig)
	_, err = tryConnect(t, &dialer{t: t}, offering(make([]Root, maxRoots+1)))
	wantClass(t, err, ClassConfig)
	f := connect(t, legacyServer(answering(nil)), pinned(Revision20251125))
	wantClass(t, f.SetRoots(short(t), home), ClassUnsupported)
	f = connect(t, legacyServer(answering(nil)), pinned(Revision20251125), offering(home))
	many := make([]Root, maxRoots+1)
	for i := range many {
		many[i].URI = "file:///x"
	}
	wantClass(t, f.SetRoots(short(t), many), ClassOverLimit)
	wantClass(t, f.SetRoots(short(t), []Root{{URI: "file:///" + strings.Repeat("x", maxRootBytes)}}), ClassOverLimit)
	if string(f.roots.list()) != homeList {
		t.Fatal("what was refused is offered")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	wantClass(t, f.SetRoots(short(t), home), ClassClosed)
}
