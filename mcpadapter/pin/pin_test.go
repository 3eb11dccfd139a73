package pin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/transport/stdio"
)

var (
	fpA  = "sha256:" + strings.Repeat("a", 64)
	fpB  = "sha256:" + strings.Repeat("b", 64)
	noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
)

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDecisionsSurviveAndKeepTheirHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "home", "mcp-pins.json")
	s := open(t, path)
	if _, ok := s.Lookup("files", LayerLaunch); ok || s.Check("files", LayerLaunch, fpA) != Unknown {
		t.Fatal("an empty store knows something")
	}
	must(t, s.Accept("files", LayerLaunch, fpA, "operator", noon))
	must(t, s.Refuse("files", LayerLaunch, fpB, "operator", noon.Add(time.Hour)))
	s = open(t, path)
	for fp, want := range map[string]Verdict{fpA: IsAccepted, fpB: IsRefused, "sha256:" + strings.Repeat("c", 64): Changed} {
		if got := s.Check("files", LayerLaunch, fp); got != want {
			t.Errorf("Check(%s) = %s, want %s", fp[:9], got, want)
		}
	}
	if p, ok := s.Lookup("files", LayerLaunch); !ok || p.Fingerprint != fpA || p.Who != "operator" || !p.When.Equal(noon) {
		t.Errorf("Lookup = %+v: a refusal must not hide what is accepted", p)
	}
	must(t, s.Accept("files", LayerLaunch, fpB, "other", noon.Add(2*time.Hour)))
	must(t, s.Accept("files", LayerLaunch, fpB, "other", noon.Add(3*time.Hour))) // again: history stays
	p, _ := open(t, path).Lookup("files", LayerLaunch)
	if p.State != Accepted || p.Fingerprint != fpB || p.Previous == nil || p.Previous.Fingerprint != fpA || !p.Previous.When.Equal(noon) {
		t.Errorf("%+v", p)
	}
	if s.Check("files", LayerEndpoint, fpB) != Unknown || s.Check("other", LayerLaunch, fpB) != Unknown {
		t.Error("a pin reaches beyond its binding or layer")
	}
	if n, err := s.Revoke("files", ""); n != 1 || err != nil || len(open(t, path).List()) != 0 {
		t.Errorf("Revoke: %d, %v", n, err)
	}
}

func TestFileIsPrivateAndReplacedWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp-pins.json")
	must(t, open(t, path).Accept("a", LayerLaunch, fpA, "w", noon))
	info, err := os.Stat(path)
	must(t, err)
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestTwoStoresLoseNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp-pins.json")
	var wg sync.WaitGroup
	for i := range 2 {
		s := open(t, path)
		for j := range 10 {
			wg.Go(func() {
				if err := s.Accept(fmt.Sprintf("b%d-%d", i, j), LayerLaunch, fpA, "w", noon); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if n := len(open(t, path).List()); n != 20 {
		t.Fatalf("%d pins of 20", n)
	}
}

func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "mcp-pins.json"))
	must(t, s.Accept("a", LayerLaunch, fpA, "w", noon))
	for i := range maxRefused + 5 {
		must(t, s.Refuse("a", LayerLaunch, fmt.Sprintf("sha256:%064x", i), "w", noon.Add(time.Duration(i)*time.Minute)))
	}
	if n := len(s.List()); n != maxRefused+1 {
		t.Errorf("%d pins", n)
	}
	if s.Check("a", LayerLaunch, fmt.Sprintf("sha256:%064x", 0)) == IsRefused || s.Check("a", LayerLaunch, fmt.Sprintf("sha256:%064x", maxRefused+4)) != IsRefused {
		t.Error("the wrong refusals were dropped")
	}
}

// An edit of what was refused is refused as well, until something of the
// binding is accepted.
func TestARefusalOutlivesAnEdit(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "mcp-pins.json"))
	must(t, s.Refuse("a", LayerEndpoint, fpA, "w", noon))
	if got := s.Check("a", LayerEndpoint, fpB); got != IsRefused {
		t.Errorf("another fingerprint of a refused binding is %s", got)
	}
	if s.Check("a", LayerLaunch, fpB) != Unknown || s.Check("b", LayerEndpoint, fpB) != Unknown {
		t.Error("a refusal reaches beyond its binding or layer")
	}
	must(t, s.Accept("a", LayerEndpoint, fpB, "w", noon.Add(time.Hour)))
	if s.Check("a", LayerEndpoint, fpB) != IsAccepted || s.Check("a", LayerEndpoint, fpA) != IsRefused {
		t.Error("what was decided about each of two fingerprints is not kept")
	}
}

func TestLockIsWaitedForWithABound(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(path, time.Second)
	must(t, err)
	if _, err := lockFile(path, 20*time.Millisecond); !errors.Is(err, ErrLocked) {
		t.Fatalf("error %v", err)
	}
	unlock()
	again, err := lockFile(path, time.Second)
	must(t, err)
	again()
}

func TestStrictDecoding(t *testing.T) {
	t.Parallel()
	entry := func(extra string) string {
		return fmt.Sprintf(`{"version":1,"pins":[{"binding":"a","layer":"launch","fingerprint":%q,"state":"accepted","who":"w","when":"2026-05-04T12:00:00Z"%s}]}`, fpA, extra)
	}
	if pins, err := decode("p", []byte(entry(""))); err != nil || len(pins) != 1 {
		t.Fatalf("the good twin: %v", err)
	}
	cases := map[string]struct{ text, want string }{
		"unknown key":      {"{\n \"version\":1,\n  \"pinz\":[]}", "p:3:3: has an unknown key at \"/pinz\""},
		"unknown pin key":  {entry(`,"x":1`), "has an unknown key at \"/pins/0/x\""},
		"duplicate key":    {entry(`,"who":"v"`), "has a key twice"},
		"wrong case":       {`{"Version":1,"pins":[]}`, "unknown key"},
		"wrong type":       {`{"version":"1","pins":[]}`, "wrong type"},
		"torn":             {`{"version":1,"pins":[`, "is not valid JSON"},
		"version":          {`{"version":2,"pins":[]}`, "version 2 is not known"},
		"no version":       {`{}`, "version 0"},
		"empty file":       {``, "p"},
		"layer":            {strings.Replace(entry(""), `"launch"`, `"lunch"`, 1), `pins[0]: layer "lunch"`},
		"fingerprint":      {strings.Replace(entry(""), "sha256:a", "sha256:A", 1), "pins[0]: fingerprint"},
		"state":            {strings.Replace(entry(""), `"accepted"`, `"once"`, 1), `state "once"`},
		"name on launch":   {entry(`,"name":"t"`), "tool layer"},
		"accepted twice":   {"(built below)", "a second accepted"},
		"control in who":   {strings.Replace(entry(""), `"w"`, `"\u001b[2J"`, 1), "who"},
		"previous, broken": {entry(`,"previous":{"fingerprint":"x","who":"w","when":"2026-05-04T12:00:00Z"}`), "previous"},
	}
	for name, c := range cases {
		text := c.text
		if name == "accepted twice" {
			one := strings.TrimSuffix(strings.TrimPrefix(entry(""), `{"version":1,"pins":[`), "]}")
			text = `{"version":1,"pins":[` + one + "," + one + "]}"
		}
		_, err := decode("p", []byte(text))
		var format *FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestAcceptRefusesWhatItCouldNotReadBack(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "mcp-pins.json"))
	for _, err := range []error{
		s.Accept("", LayerLaunch, fpA, "w", noon), s.Accept("a", "x", fpA, "w", noon), s.Accept("a", LayerLaunch, "md5:1", "w", noon),
		s.Accept("a", LayerLaunch, fpA, "", noon), s.Refuse("a", LayerLaunch, fpA, "w", time.Time{}), s.Accept("a", LayerTool, fpA, "w", noon),
	} {
		if err == nil {
			t.Error("accepted")
		}
	}
	if len(s.List()) != 0 {
		t.Errorf("%v", s.List())
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version":1,"pins":[{"binding":"a","layer":"tool","name":"t","fingerprint":"` + fpA + `","state":"refused","who":"w","when":"2026-05-04T12:00:00Z"}]}`))
	f.Add([]byte(`{"version":1,"pins":[null]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		pins, err := decode("p", raw)
		if err != nil {
			return
		}
		path := filepath.Join(t.TempDir(), "pins")
		must(t, writeStore(path, pins))
		again, err := readStore(path)
		if err != nil || len(again) != len(pins) {
			t.Fatalf("what was read cannot be read back: %v", err)
		}
	})
}

// launch fingerprints a configuration below a directory with a program, a
// script and a data file.
func launch(t *testing.T, c stdio.Config) Fingerprint {
	t.Helper()
	tr, err := stdio.New(c)
	must(t, err)
	fp, err := Launch(tr)
	must(t, err)
	return fp
}

func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), mode))
	return path
}

func TestLaunchFingerprintCoversTheLaunch(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("execute bits of Unix")
	}
	dir := t.TempDir()
	exe := write(t, filepath.Join(dir, "server"), "program", 0o755)
	script := write(t, filepath.Join(dir, "main.py"), "print()", 0o644)
	data := write(t, filepath.Join(dir, "data.db"), "rows", 0o644)
	base := stdio.Config{Command: exe, Args: []string{"main.py", "--db", data, "a b"}, Dir: dir,
		Env: map[string]string{"TOKEN": "canary-1"}, HostEnv: []string{"PATH=/usr/bin"}}
	first := launch(t, base)
	if again := launch(t, base); again.Digest != first.Digest || !isFingerprint(first.Digest) {
		t.Fatalf("digests %s and %s", first.Digest, again.Digest)
	}
	shown := fmt.Sprint(first.Lines)
	for _, want := range []string{exe + " main.py --db " + data + ` "a b"`, first.SHA256, script, "TOKEN"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not shown in %s", want, shown)
		}
	}
	if strings.Contains(shown, "canary") {
		t.Error("an environment value is shown")
	}

	same := map[string]func(*stdio.Config){
		"environment value": func(c *stdio.Config) { c.Env = map[string]string{"TOKEN": "canary-2"} },
		"data file":         func(*stdio.Config) { write(t, data, "other rows", 0o644) },
	}
	differ := map[string]func(*stdio.Config){
		"argument":         func(c *stdio.Config) { c.Args = []string{"main.py", "--db", data, "a c"} },
		"argument split":   func(c *stdio.Config) { c.Args = []string{"main.py", "--db", data, "a", "b"} },
		"environment name": func(c *stdio.Config) { c.InheritEnv = []string{"EXTRA"} },
		"directory":        func(c *stdio.Config) { c.Dir = t.TempDir(); c.Args[0] = script },
		"executable":       func(c *stdio.Config) { c.Command = write(t, filepath.Join(t.TempDir(), "server"), "program", 0o755) },
	}
	for name, edit := range same {
		c := base
		edit(&c)
		if launch(t, c).Digest != first.Digest {
			t.Errorf("%s: the fingerprint changed", name)
		}
	}
	for name, edit := range differ {
		c := base
		c.Args = append([]string(nil), base.Args...)
		edit(&c)
		if launch(t, c).Digest == first.Digest {
			t.Errorf("%s: the fingerprint is the same", name)
		}
	}
	write(t, script, "import os", 0o644)
	if launch(t, base).Digest == first.Digest {
		t.Error("the script's bytes are not covered")
	}
	write(t, script, "print()", 0o644)
	write(t, exe, "another", 0o755)
	if launch(t, base).Digest == first.Digest {
		t.Error("the executable's bytes are not covered")
	}
}

func TestLaunchFollowsLinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links")
	}
	dir := t.TempDir()
	one := write(t, filepath.Join(dir, "one"), "1", 0o755)
	two := write(t, filepath.Join(dir, "two"), "1", 0o755)
	link := filepath.Join(dir, "server")
	must(t, os.Symlink(one, link))
	before := launch(t, stdio.Config{Command: link, Dir: dir})
	must(t, os.Remove(link))
	must(t, os.Symlink(two, link))
	if after := launch(t, stdio.Config{Command: link, Dir: dir}); after.Digest == before.Digest || before.Executable != one {
		t.Errorf("a retargeted link goes unnoticed (%s)", before.Executable)
	}
}

func TestMutableLaunches(t *testing.T) {
	t.Parallel()
	cases := []struct {
		command string
		args    string
		want    string
	}{
		{"npx", "-y @scope/server", fetches},
		{"/usr/lib/node_modules/npm/bin/npx-cli.js", "x", fetches},
		{`C:\node\npx.cmd`, "x", fetches},
		{"npm", "exec x", fetches},
		{"npm", "--version", ""},
		{"uvx", "server", fetches},
		{"uv", "tool run server", fetches},
		{"docker", "run -i --rm img:latest", image},
		{"docker", "run -i img@sha256:abc", digest},
		{"docker", "version", ""},
		{"bash", "-lc x", shell},
		{"sh", "start.sh", ""},
		{"env", "A=1 npx x", fetches},
		{"env", "A=1 ./server", unknown},
		{"python3.12", "-m server", module},
		{"python3", "server.py", ""},
		{"deno", "run https://example.com/x.ts", remote},
		{"go", "run ./cmd", unknown},
		{"./server", "", ""},
	}
	for _, c := range cases {
		if got := mutable(c.command, "/real/program", strings.Fields(c.args)); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.command, c.args, got, c.want)
		}
	}
	if mutable("server", "/opt/npm/bin/npx-cli.js", nil) != fetches {
		t.Error("a link to a runner goes unnoticed")
	}
}

func TestDigestCacheSeesChanges(t *testing.T) {
	t.Parallel()
	path := write(t, filepath.Join(t.TempDir(), "f"), "one", 0o644)
	before, err := hashFile("f", path)
	must(t, err)
	info, err := os.Stat(path)
	must(t, err)
	write(t, path, "two", 0o644)
	must(t, os.Chtimes(path, info.ModTime(), info.ModTime())) // same size, same time
	after, err := hashFile("f", path)
	must(t, err)
	if before.sum == after.sum {
		t.Fatal("a swapped file has its old digest")
	}
}

func TestLaunchFindsAProgramThatMoved(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("execute bits of Unix")
	}
	old, next := t.TempDir(), t.TempDir()
	first := write(t, filepath.Join(old, "server"), "1", 0o755)
	tr, err := stdio.New(stdio.Config{Command: "server", HostEnv: []string{"PATH=" + old + ":" + next}})
	must(t, err)
	before, err := Launch(tr)
	must(t, err)
	must(t, os.Rename(first, filepath.Join(next, "server")))
	after, err := Launch(tr)
	must(t, err)
	if after.Digest == before.Digest || filepath.Dir(after.Executable) != next {
		t.Errorf("%+v", after)
	}
	must(t, os.Remove(after.Executable))
	if _, err := Launch(tr); err == nil {
		t.Error("a program that is gone has a fingerprint")
	}
}

func TestDisabledStaysOnRecord(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pins.json")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	one, two := "sha256:"+strings.Repeat("1", 64), "sha256:"+strings.Repeat("2", 64)
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	if err := s.Disable("b", "tester", at); err != nil || s.Check("b", LayerLaunch, one) != Unknown {
		t.Fatalf("nothing was accepted: %v", err)
	}
	steps := []struct {
		do   func() error
		want Verdict
	}{
		{func() error { return s.Accept("b", LayerLaunch, one, "tester", at) }, IsAccepted},
		{func() error { return s.Disable("b", "tester", at) }, IsDisabled},
		{func() error { return s.Disable("other", "tester", at) }, IsDisabled},
		{func() error { return s.Enable("b") }, IsAccepted},
		{func() error { return s.Disable("b", "tester", at) }, IsDisabled},
		{func() error { return s.Accept("b", LayerLaunch, one, "tester", at) }, IsAccepted},
		{func() error { return s.Disable("b", "tester", at) }, IsDisabled},
	}
	for i, step := range steps {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		again, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := again.Check("b", LayerLaunch, one); got != step.want || s.Check("b", LayerLaunch, one) != got {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
	if got := s.Check("b", LayerLaunch, two); got != Changed {
		t.Errorf("another launch of what is disabled: %s", got)
	}
	if err := s.Disable("b", "", at); err == nil {
		t.Error("nobody disabled it")
	}
}
