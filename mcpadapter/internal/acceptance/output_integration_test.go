//go:build integration && linux

package acceptance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// chatty is a script of calls whose results are long.
func chatty(n int) string {
	text := "version: 1\nsteps:\n"
	for i := range n {
		text += fmt.Sprintf("  - call: {tool: mcp__demo__echo, args: {text: %q}}\n", strings.Repeat(fmt.Sprint(i%10), 8_000))
	}
	return text
}

// A reader that goes away ends the run soon, with a failure and a journal that is
// closed; a slow one gets every line.
func TestReadersOfStdout(t *testing.T) {
	t.Parallel()
	for name, goes := range map[string]bool{"goes away": true, "is slow": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			path := w.write("s.yaml", chatty(40))
			ctx, cancel := context.WithTimeout(t.Context(), runWait)
			defer cancel()
			cmd := w.command(ctx, "--headless", "--output", "json", "--script", path)
			reader, stdout, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = stdout.Close()
			var read bytes.Buffer
			lines := bufio.NewReader(reader)
			for {
				line, err := lines.ReadBytes('\n')
				read.Write(line)
				if err != nil || goes {
					break
				}
				time.Sleep(time.Millisecond) // slower than the run
			}
			_ = reader.Close()
			began := time.Now()
			_ = cmd.Wait()
			if ctx.Err() != nil {
				t.Fatal("it did not end")
			}
			code, session := cmd.ProcessState.ExitCode(), w.sessions()[0]
			if want := map[bool]int{true: 1, false: 0}[goes]; code != want {
				t.Errorf("exit %d after %s: %s", code, time.Since(began), &stderr)
			}
			journal := w.journal(session)
			if goes && !bytes.HasPrefix(journal, read.Bytes()) || !goes && !bytes.Equal(journal, read.Bytes()) {
				t.Error("what was read is not the journal")
			}
			last := journal[bytes.LastIndexByte(bytes.TrimSpace(journal), '\n')+1:]
			if !bytes.Contains(last, []byte(fmt.Sprintf(`"session.closed","exit_code":%d`, code))) {
				t.Errorf("the session ends with %s", last)
			}
			w.gone("fx", killWait)
			w.verify()
		})
	}
}

// The time of a whole run is over while a server stalls: exit code 8, everything
// has an end, and no process is left. Whoever does not read the rest is waited
// for, until a signal says that nobody will.
func TestTimeoutWhileNobodyReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := strings.Replace(chatty(20), "steps:", "servers: {demo: {builtin: demo}, "+w.server("fx", "stall", "")+"}\nsteps:", 1)
	path := w.write("s.yaml", text+"  - call: {tool: mcp__fx__stall}\n")
	ctx, cancel := context.WithTimeout(t.Context(), runWait)
	defer cancel()
	cmd := w.command(ctx, "--headless", "--tofu", "--output", "json", "--timeout", "4s", "--script", path)
	unread, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unread.Close() }()
	cmd.Stdout = stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = stdout.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	w.await("the end of the session", runWait, func() bool {
		ids := w.sessions()
		return len(ids) > 0 && bytes.Contains(w.journal(ids[0]), []byte(`"session.closed"`))
	})
	select {
	case <-ended:
		t.Fatal("it did not wait for its reader")
	default:
	}
	if !bytes.Contains(w.journal(w.sessions()[0]), []byte(`"session.closed","exit_code":8,"reason":"limit"`)) {
		t.Errorf("%s", w.journal(w.sessions()[0]))
	}
	ask := time.NewTicker(100 * time.Millisecond)
	defer ask.Stop()
	for waiting := true; waiting; {
		select {
		case <-ended:
			waiting = false
		case <-ask.C:
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	if code := cmd.ProcessState.ExitCode(); ctx.Err() != nil || code != 8 {
		t.Errorf("exit %d", code)
	}
	w.gone("fx", killWait)
	w.verify()
}

// A report is written when somebody interrupts the run, is sound XML whatever the
// steps are called, and one that cannot be written costs no call.
func TestReportOfAnInterruptedRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hostile := `]]></testcase><!-- %0A::error::x \u001b[2J \u202e \u0000 \ud83d\ude00 ${`
	text := "version: 1\nservers: {" + w.server("fx", "stall", "") + "}\nreplies: [{say: \"\\u001b]0;x\\u0007\"}]\nsteps:\n  - user: \"" +
		strings.NewReplacer(`\ud83d\ude00`, `\U0001f600`, `"`, `\"`).Replace(hostile) + "\"\n  - call: {tool: mcp__fx__stall}\n  - status: {}\n"
	path, junit := w.write("s.yaml", text), w.path("out.xml")
	for _, bad := range []string{w.path("nowhere") + "/out.xml", w.dir, "/proc/out.xml"} {
		r := w.run("--headless", "--tofu", "--output", "json", "--script", path, "--report", "junit="+bad).want(2)
		if len(r.stdout) > 0 || len(w.log("fx")) > 0 {
			t.Errorf("%s: something was started", bad)
		}
	}
	cmd, finish := w.started("--headless", "--tofu", "--output", "json", "--script", path, "--report", "junit="+junit, "--report", "github", "--record", w.path("rec.yaml"))
	w.await("the call", 20*time.Second, func() bool { return len(w.log("fx").Calls("stall")) > 0 })
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	r := finish()
	r.want(130)
	report := must(t, junit)
	var suites struct {
		Suites []struct {
			Tests   int `xml:"tests,attr"`
			Errors  int `xml:"errors,attr"`
			Skipped int `xml:"skipped,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(report, &suites); err != nil || len(suites.Suites) != 1 || suites.Suites[0].Tests != 3 || suites.Suites[0].Errors != 1 || suites.Suites[0].Skipped != 1 {
		t.Errorf("%v %+v\n%s", err, suites, report)
	}
	for what, out := range map[string][]byte{"the report": report, "stderr": r.stderr} {
		for line := range bytes.Lines(out) {
			if c, bad := rawControl(bytes.TrimSuffix(line, []byte("\n"))); bad {
				t.Errorf("%s has %#x: %q", what, c, line)
			}
		}
	}
	annotations := 0
	for line := range bytes.Lines(r.stderr) {
		if bytes.HasPrefix(line, []byte("::")) {
			annotations++
		}
	}
	if annotations != 1 {
		t.Errorf("%d annotations: %s", annotations, r.stderr)
	}
	// What was recorded says what it does not have, and does the rest again.
	if rec := string(must(t, w.path("rec.yaml"))); !strings.Contains(rec, "# Note: turn t2 is not in the script: it was interrupted") {
		t.Errorf("%s", rec)
	}
	w.run("--headless", "--tofu", "--script", w.path("rec.yaml")).want(0)
	// A file that is there is not written over.
	again := w.run("--headless", "--tofu", "--script", w.path("rec.yaml"), "--record", w.path("rec.yaml")).want(2)
	if !bytes.Contains(again.stderr, []byte("is not written over")) {
		t.Errorf("%s", again.stderr)
	}
}
