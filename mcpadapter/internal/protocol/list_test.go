package protocol

import (
	"strings"
	"testing"
)

func TestListing(t *testing.T) {
	t.Parallel()
	var n counter
	cursors := make(chan string, 8)
	f := connect(t, legacyServer(func(p *peer) {
		for {
			m, ok := p.next()
			if !ok {
				return
			}
			switch m.Method {
			case "tools/list":
				cursors <- string(m.Params)
				p.reply(m, `{"tools":[{"name":"b","inputSchema":{"z":1,"a":9007199254740993}},null,{"name":"b"}],"nextCursor":"same"}`)
			case "prompts/list":
				p.fail(m, CodeMethodNotFound, "no")
			case "resources/list":
				p.reply(m, `{"resources":[null]}`)
			case "resources/templates/list":
				p.reply(m, `{"resourceTemplates":null,"nextCursor":null}`)
			}
		}
	}), pinned(Revision20251125), n.option)
	page, err := f.List(short(t), Tools, "")
	if err != nil || len(page.Items) != 2 || page.NullItems != 1 || page.NextCursor != "same" ||
		string(page.Items[0]) != `{"name":"b","inputSchema":{"z":1,"a":9007199254740993}}` {
		t.Fatalf("%+v, %v", page, err)
	}
	if _, err = f.List(short(t), Tools, page.NextCursor); err != nil {
		t.Fatal(err)
	}
	if a, b := <-cursors, <-cursors; a != `{}` || b != `{"cursor":"same"}` {
		t.Fatalf("%s, %s", a, b)
	}
	_, err = f.List(short(t), Prompts, "")
	if wantClass(t, err, ClassRemote).Code != CodeMethodNotFound {
		t.Fatal(err)
	}
	for _, fam := range []Family{Resources, Templates} {
		if page, err := f.List(short(t), fam, ""); err != nil || len(page.Items) != 0 {
			t.Fatalf("%s: %+v, %v", fam, page, err)
		}
	}
	_, err = f.List(short(t), "odd", "")
	wantClass(t, err, ClassConfig)
	eventually(t, "nulls counted", func() bool { return n.get(droppedNullItem) == 3 })
}

func TestListingLimits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		result  string
		class   Class
		setting string
	}{
		"cursor":     {`{"tools":[],"nextCursor":"` + strings.Repeat("c", 5000) + `"}`, ClassOverLimit, "limits.cursorBytes"},
		"page":       {`{"tools":[{"name":"` + strings.Repeat("n", 9000) + `"}]}`, ClassOverLimit, "limits.pageBytes"},
		"no array":   {`{"tools":{}}`, ClassProtocol, ""},
		"absent":     {`{}`, ClassProtocol, ""},
		"wrong case": {`{"Tools":[]}`, ClassProtocol, ""},
		"item":       {`{"tools":[7]}`, ClassProtocol, ""},
		"cursor 7":   {`{"tools":[],"nextCursor":7}`, ClassProtocol, ""},
		"task":       {`{"resultType":"task","tools":[]}`, ClassUnsupported, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := connect(t, legacyServer(answering(map[string]string{"tools/list": tc.result})), pinned(Revision20251125),
				func(o *Options) { o.Limits.PageBytes = 8000 })
			_, err := f.List(short(t), Tools, "")
			if e := wantClass(t, err, tc.class); e.Setting != tc.setting {
				t.Fatalf("%+v", e)
			}
		})
	}
}
