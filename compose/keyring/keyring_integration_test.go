//go:build integration && unix && !darwin

package keyring

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/compose/keyring/keyringtest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secretCanary = "key-canary-4b1d7790"
	short        = 100 * time.Millisecond
	long         = 10 * time.Second
)

var item = Item{"looprig", "anthropic"}

// A secret is found, and a person may unlock it first; everything else is a
// typed error that says what to do and has nothing of the secret.
func TestLookup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		desk keyringtest.Bus
		item Item
		call time.Duration
		code string
		says string
	}{
		"found":               {item: item},
		"unlocked":            {desk: keyringtest.Bus{Locked: true}, item: item},
		"dismissed":           {desk: keyringtest.Bus{Locked: true, Dismissed: true}, item: item, code: Locked, says: "dismissed"},
		"not there":           {item: Item{"looprig", "other"}, code: NotFound, says: "secret-tool store --label=looprig service looprig username other"},
		"nobody unlocks it":   {desk: keyringtest.Bus{Locked: true, Silent: "Prompt"}, item: item, code: TimedOut, says: "unlock it"},
		"no keyring":          {desk: keyringtest.Bus{Refuse: unknownName}, item: item, code: Unavailable, says: "no keyring is running"},
		"refused":             {desk: keyringtest.Bus{Refuse: "org.example.No"}, item: item, code: Failed, says: "org.example.No"},
		"a bus that hangs":    {desk: keyringtest.Bus{Silent: keyringtest.Everything}, item: item, call: short, code: TimedOut, says: "bus did not answer"},
		"a search that hangs": {desk: keyringtest.Bus{Silent: "SearchItems"}, item: item, call: short, code: TimedOut, says: "did not answer"},
		"a secret that hangs": {desk: keyringtest.Bus{Silent: "GetSecret"}, item: item, call: short, code: TimedOut, says: "did not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := waits{call: long, whole: long}
			if c.call > 0 {
				w.call = c.call
			}
			if c.desk.Silent == "Prompt" {
				w.whole = 3 * short
			}
			c.desk.Service, c.desk.Account, c.desk.Secret = item.Service, item.Account, secretCanary
			got, err := look(t.Context(), c.desk.Sit(t), c.item, w)
			if c.code == "" {
				if err != nil || got != secretCanary {
					t.Errorf("%q %v", got, err)
				}
				return
			}
			failed, ok := errors.AsType[*Error](err)
			if got != "" || !ok || failed.Code != c.code || !strings.Contains(failed.Reason, c.says) || strings.Contains(failed.Reason, secretCanary) || strings.Contains(failed.Reason, "\x1b") {
				t.Errorf("%q %v", got, err)
			}
		})
	}
}

// A caller that goes away is not kept waiting, and no bus at all is no wait.
func TestLookupEnds(t *testing.T) {
	t.Parallel()
	gone := errors.New("the user stopped it")
	ctx, cancel := context.WithCancelCause(t.Context())
	d := &keyringtest.Bus{Silent: "SearchItems"}
	env := d.Sit(t)
	time.AfterFunc(short, func() { cancel(gone) })
	if _, err := look(ctx, env, item, waits{long, long}); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
	for _, env := range [][]string{
		nil, {"DBUS_SESSION_BUS_ADDRESS=unixexec:path=/bin/false"}, {"DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere/bus"}, {"XDG_RUNTIME_DIR=" + t.TempDir()},
	} {
		_, err := Get(t.Context(), env, item)
		if failed, ok := errors.AsType[*Error](err); !ok || failed.Code != Unavailable {
			t.Errorf("%v: %v", env, err)
		}
	}
}
