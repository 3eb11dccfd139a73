package compose

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/mcpadapter"
)

// Bounds of the cache of eras. What is older than eraAge is found anew: a server
// may have learned a newer revision since.
const (
	maxEras      = 1024
	maxErasBytes = 512 << 10
	eraAge       = 7 * 24 * time.Hour
)

// ErasPath is where a home keeps which revision its servers were found to speak.
// It is a cache: damaged or missing, it costs a probe.
func ErasPath(home string) string { return filepath.Join(home, "cache", "eras.json") }

// eras is the cache in memory. It is read when the run is opened and written when
// it is closed, together with what other processes found meanwhile.
type eras struct {
	path string
	now  func() time.Time

	mu    sync.Mutex
	known map[string]eraEntry
	found map[string]eraEntry
}

type eraEntry struct {
	Revision string    `json:"revision"`
	Found    time.Time `json:"found"`
}

type eraFile struct {
	Version int                 `json:"version"`
	Eras    map[string]eraEntry `json:"eras"`
}

var _ mcpadapter.Eras = (*eras)(nil)

func openEras(path string, now func() time.Time) *eras {
	return &eras{path: path, now: now, known: readEras(path, now()), found: map[string]eraEntry{}}
}

// readEras reads what can be understood and is young enough.
func readEras(path string, now time.Time) map[string]eraEntry {
	out := map[string]eraEntry{}
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxErasBytes {
		return out
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return out
	}
	var file eraFile
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.DisallowUnknownFields()
	if dec.Decode(&file) != nil || file.Version != 1 {
		return out
	}
	for key, e := range file.Eras {
		age := now.Sub(e.Found)
		if strings.HasPrefix(key, "sha256:") && slices.Contains(config.Revisions, e.Revision) && age >= 0 && age < eraAge {
			out[key] = e
		}
	}
	return out
}

// Known implements mcpadapter.Eras.
func (e *eras) Known(key string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f, ok := e.found[key]; ok {
		return f.Revision
	}
	return e.known[key].Revision
}

// Found implements mcpadapter.Eras. The age of an entry is that of its first
// finding: a revision that was taken from the cache proves nothing new.
func (e *eras) Found(key, revision string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known[key].Revision == revision || e.found[key].Revision == revision || len(e.found) >= maxEras {
		return
	}
	e.found[key] = eraEntry{Revision: revision, Found: e.now().UTC()}
}

// save writes what was found since, beside what is there by now. Without news it
// writes nothing.
func (e *eras) save() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.found) == 0 {
		return nil
	}
	all := readEras(e.path, e.now())
	maps.Copy(all, e.found)
	for len(all) > maxEras {
		delete(all, oldest(all))
	}
	raw, err := json.Marshal(eraFile{Version: 1, Eras: all})
	if err != nil {
		return err
	}
	e.found = map[string]eraEntry{}
	return config.WriteAtomic(e.path, append(raw, '\n'))
}

func oldest(all map[string]eraEntry) string {
	key := ""
	for k, e := range all {
		if key == "" || e.Found.Before(all[key].Found) {
			key = k
		}
	}
	return key
}
