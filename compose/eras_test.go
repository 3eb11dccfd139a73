package compose

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func launchKey(n int) string { return fmt.Sprintf("sha256:%064x", n) }

func TestErasAreKeptAndAgeAndNeverHarm(t *testing.T) {
	t.Parallel()
	path := ErasPath(t.TempDir())
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	a, b := openEras(path, clock), openEras(path, clock)
	if err := a.save(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("nothing was found and a file was written")
	}
	a.Found(launchKey(1), "2025-11-25")
	b.Found(launchKey(2), "2026-07-28")
	for _, e := range []*eras{a, b} { // two processes: neither loses what the other found
		if err := e.save(); err != nil {
			t.Fatal(err)
		}
	}
	c := openEras(path, clock)
	if c.Known(launchKey(1)) != "2025-11-25" || c.Known(launchKey(2)) != "2026-07-28" || c.Known(launchKey(3)) != "" {
		t.Errorf("known: %+v", c.known)
	}
	now = now.Add(eraAge - time.Hour)
	c.Found(launchKey(1), "2025-11-25") // taken from the cache: no news
	if len(c.found) != 0 {
		t.Error("an entry renews itself")
	}
	now = now.Add(2 * time.Hour)
	if d := openEras(path, clock); d.Known(launchKey(1)) != "" {
		t.Error("an old entry is used")
	}
	now = now.Add(-eraAge)
	for _, damaged := range []string{
		"", "{", "[]", `{"version":2,"eras":{}}`, `{"version":1,"eras":{},"x":1}`, `{"version":1,"eras":{"sha256:a":{"revision":"1999-01-01","found":"2026-05-04T11:00:00Z"}}}`,
		`{"version":1,"eras":{"other":{"revision":"2025-11-25","found":"2026-05-04T11:00:00Z"}}}`, strings.Repeat(" ", maxErasBytes+1),
	} {
		if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		d := openEras(path, clock)
		if len(d.known) != 0 {
			t.Errorf("%.40q gives %v", damaged, d.known)
		}
		d.Found(launchKey(9), "2025-06-18")
		if err := d.save(); err != nil || openEras(path, clock).Known(launchKey(9)) != "2025-06-18" {
			t.Errorf("%.40q is not mended: %v", damaged, err)
		}
	}
}

func TestErasAreBounded(t *testing.T) {
	t.Parallel()
	path := ErasPath(t.TempDir())
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for round := range 2 {
		e := openEras(path, func() time.Time { return now })
		for i := range maxEras + 10 {
			e.Found(launchKey(round*10_000+i), "2025-11-25")
		}
		if err := e.save(); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Minute)
	}
	src, err := os.ReadFile(path)
	var file eraFile
	if err != nil || json.Unmarshal(src, &file) != nil || len(file.Eras) != maxEras {
		t.Fatalf("%d entries, %v", len(file.Eras), err)
	}
	if _, old := file.Eras[launchKey(0)]; old {
		t.Error("the oldest entries stay")
	}
}
