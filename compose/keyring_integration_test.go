//go:build integration && unix && !darwin

package compose_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/keyring/keyringtest"
)

// A key of the keyring goes to its endpoint and nowhere else, and a keyring that
// does not give it is an error that says what to do.
func TestKeyOfTheKeyring(t *testing.T) {
	t.Parallel()
	srv := serveModel(t)
	home := homeWith(t, `{"mcpServers": {"off": {"url": "http://127.0.0.1:1/", "enabled": false}}}`)
	writeConfig(t, home, "providers:\n  mine: {kind: openai-chat, baseUrl: '"+srv.URL+"', model: tiny, keyring: looprig/mine}\n")
	ask := func(b *keyringtest.Bus) (string, error) {
		env := b.Sit(t)
		return prompted(t, home, "hello", func(o *compose.Options) { o.Env = append(o.Env, env...) })
	}
	said, err := ask(&keyringtest.Bus{Service: "looprig", Account: "mine", Secret: modelKey})
	if err != nil || !strings.Contains(said, "the sum is 5") {
		t.Errorf("%v\n%s", err, said)
	}
	missing, err := ask(&keyringtest.Bus{Service: "looprig", Account: "other", Secret: modelKey})
	if err == nil || !strings.Contains(err.Error(), "secret-tool store --label=looprig service looprig username mine") {
		t.Errorf("%v", err)
	}
	dismissed, err := ask(&keyringtest.Bus{Service: "looprig", Account: "mine", Secret: modelKey, Locked: true, Dismissed: true})
	if err == nil || !strings.Contains(err.Error(), "stays locked") {
		t.Errorf("%v", err)
	}
	wrong, err := ask(&keyringtest.Bus{Service: "looprig", Account: "mine", Secret: "wrong"})
	if err == nil || !strings.Contains(err.Error(), "the key is from the keyring, under looprig/mine") {
		t.Errorf("%v", err)
	}
	if auth, _ := srv.seen(); len(auth) != 2 || auth[0] != "Bearer "+modelKey {
		t.Errorf("sent %q", auth)
	}
	kept := said + missing + dismissed + wrong
	err = filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		src, err := os.ReadFile(path)
		kept += string(src)
		return err
	})
	if err != nil || strings.Contains(kept, modelKey) {
		t.Errorf("%v; the key is kept somewhere: %t", err, strings.Contains(kept, modelKey))
	}
}
