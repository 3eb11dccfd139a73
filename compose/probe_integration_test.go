//go:build integration

package compose

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/looprig/looprig/compose/provider"
	"github.com/looprig/looprig/harness/session"
)

// interactive opens a run in front of which a person is, with one model server
// that may be on this machine.
func interactive(t *testing.T, home, url string) *App {
	t.Helper()
	a, err := Open(t.Context(), Options{
		Home: home, Env: []string{"HOME=" + home}, Mode: ModeInteractive, Version: "test", FindModel: true,
		Locals: []provider.Local{{Name: "near", BaseURL: url + "/v1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(session.CloseInfo{Reason: "test"}); err != nil {
			t.Error(err)
		}
	})
	return a
}

// An interface opens without having looked for a server on this machine; what is
// found behind its first frame answers from then on, on record, unless somebody
// chose otherwise.
func TestProbeComesBehindTheFirstFrame(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"tiny"}]}`)
	}))
	defer srv.Close()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "mcp.json"), []byte(`{"mcpServers":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	a := interactive(t, home, srv.URL)
	if m := a.Session.Loops()[0].Model; m != "operator" || asked.Load() != 0 {
		t.Errorf("opened with %s after %d requests", m, asked.Load())
	}
	a.runProbe(t.Context())
	if m := a.Session.Loops()[0].Model; m != "near/tiny" {
		t.Errorf("found %s", m)
	}
	if err := a.awaitProbe(t.Context()); err != nil {
		t.Error(err)
	}
	if c, err := a.sessionModel(t.Context()); err != nil || c.Info().Name != "near/tiny" {
		t.Errorf("servers are answered by %v %v", c, err)
	}
	var kept strings.Builder
	for r, err := range a.store.Read(t.Context(), a.Session.ID(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		kept.Write(r.Line)
	}
	for _, want := range []string{`"type":"model.changed"`, `"by":"script:probe"`, `"code":"model_found"`} {
		if !strings.Contains(kept.String(), want) {
			t.Errorf("no %s in %s", want, kept.String())
		}
	}

	// One that is turned off, or finds nothing, leaves the person to choose.
	srv.Close()
	b := interactive(t, t.TempDir(), srv.URL)
	b.runProbe(t.Context())
	if m := b.Session.Loops()[0].Model; m != "operator" {
		t.Errorf("nothing is there, and the model is %s", m)
	}
}
