//go:build integration

package sqlite_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/holder"
	"github.com/looprig/looprig/harness/journal/journaltest"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
)

// childJob is what a process of the tests is to do: append with several writers,
// and say each acknowledged record on its output at once.
type childJob struct {
	Path    string `json:"path"`
	Prefix  string `json:"prefix"`  // of its sessions' ids
	Writers int    `json:"writers"` // sessions of its own
	Records int    `json:"records"` // for each; 0 is until it is killed
	// Shared is a session that the processes take from each other, SharedRecords
	// how many records each appends to it.
	Shared        string `json:"shared"`
	SharedRecords int    `json:"shared_records"`
	FileLimit     uint64 `json:"file_limit"` // bytes of a file, 0 for no limit
}

// What a process says besides records, and how it exits when its store latched.
const (
	sayLatched  = "latched "
	sayFailed   = "failed "
	exitLatched = 3
	exitFailed  = 4
)

func init() { childMain = runChild }

// lineOf is the line of a record, the same in every process.
func lineOf(session string, seq uint64) []byte {
	return fmt.Appendf(nil, `{"v":1,"seq":%d,"session":%q,"pad":%q}`, seq, session, strings.Repeat("p", int(seq%7)*90))
}

func batchOf(session string, seq uint64) journal.Batch {
	return journal.Batch{
		ExpectedSeq: seq - 1, Records: []journal.Record{{Seq: seq, Type: "notice", Line: lineOf(session, seq)}},
		Ledger: []ledger.Draft{{Kind: ledger.KindDecision, Session: session, Call: fmt.Sprint(seq)}},
	}
}

// say writes one line with one write, which is whole or not there.
func say(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format+"\n", args...) }

func runChild(text string) {
	var job childJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		panic(err)
	}
	limitFiles(job.FileLimit)
	ctx := context.Background()
	s, err := sqlite.Open(ctx, sqlite.Options{Path: job.Path})
	if err != nil {
		childFailed(err)
	}
	var wg sync.WaitGroup
	for w := range job.Writers {
		wg.Go(func() { childWriter(ctx, s, fmt.Sprintf("%s-%d", job.Prefix, w), job.Records) })
	}
	if job.Shared != "" {
		wg.Go(func() { childShares(ctx, s, job) })
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		childFailed(err)
	}
}

// childFailed says what went wrong, with the type that callers decide by.
func childFailed(err error) {
	var storage *journal.StorageError
	var latched *journal.LatchedError
	kind := sayFailed
	code := exitFailed
	if errors.As(err, &latched) {
		kind, code = sayLatched, exitLatched
	}
	say("%sstorage=%v %v", kind, errors.As(err, &storage), strings.ReplaceAll(err.Error(), "\n", " "))
	os.Exit(code)
}

func childWriter(ctx context.Context, s *sqlite.Store, id string, records int) {
	lease, err := s.Create(ctx, journal.Meta{Session: id}, holder.Self())
	if err != nil {
		childFailed(err)
	}
	for seq := uint64(1); records == 0 || seq <= uint64(records); seq++ {
		if _, err := s.Append(ctx, lease, batchOf(id, seq)); err != nil {
			if _, again := s.Append(ctx, lease, batchOf(id, seq)); again == nil {
				say("an append after %v was taken", err)
				os.Exit(1)
			}
			childFailed(err)
		}
		say("%s %d", id, seq)
		if seq%50 == 0 {
			if err := s.SaveSnapshot(ctx, lease, journal.Snapshot{Seq: seq, Body: make([]byte, 9000)}); err != nil {
				childFailed(err)
			}
		}
	}
}

// childShares appends to a session that other processes append to as well.
func childShares(ctx context.Context, s *sqlite.Store, job childJob) {
	for done := 0; done < job.SharedRecords; {
		lease, err := s.Acquire(ctx, job.Shared, job.Prefix, sqlite.LeaseTTL)
		if errors.Is(err, journal.ErrLeased) {
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil {
			childFailed(err)
		}
		metas, err := s.List(ctx, journal.Query{Prefix: job.Shared})
		if err != nil || len(metas) != 1 {
			childFailed(fmt.Errorf("list %v: %w", metas, err))
		}
		seq := metas[0].Records + 1
		if _, err := s.Append(ctx, lease, batchOf(job.Shared, seq)); err != nil {
			childFailed(err)
		}
		say("%s %d", job.Shared, seq)
		done++
		if err := s.Release(ctx, lease); err != nil {
			childFailed(err)
		}
	}
}

// child is a process that was started. Its output is read by wait.
type child struct {
	cmd   *exec.Cmd
	out   io.ReadCloser
	acked []journaltest.Acked
	said  string // what went wrong
}

// start runs a process, with a tracer and its flags in front where there are any.
func start(t *testing.T, job childJob, tracer ...string) *child {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	args := append(tracer, os.Args[0])
	c := &child{cmd: exec.CommandContext(t.Context(), args[0], args[1:]...)}
	c.cmd.Env = append(os.Environ(), childVar+"="+string(text))
	if len(tracer) > 0 {
		// A tracer counts the calls of each thread: the fewer there are, the more
		// places of the run are met.
		c.cmd.Env = append(c.cmd.Env, "GOMAXPROCS=1")
	}
	c.cmd.Stderr = os.Stderr
	if c.out, err = c.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// wait reads what the process says until it ends, and tells seen of each record.
func (c *child) wait(t *testing.T, seen func(n int)) int {
	t.Helper()
	in := bufio.NewScanner(c.out)
	for in.Scan() {
		line := in.Text()
		if strings.HasPrefix(line, sayLatched) || strings.HasPrefix(line, sayFailed) {
			c.said = line
			continue
		}
		var a journaltest.Acked
		if n, err := fmt.Sscanf(line, "%s %d", &a.Session, &a.Seq); n != 2 {
			t.Errorf("the process says %q: %v", line, err)
			continue
		}
		a.Line = lineOf(a.Session, a.Seq)
		c.acked = append(c.acked, a)
		if seen != nil {
			seen(len(c.acked))
		}
	}
	_ = c.cmd.Wait() // how it ended is in the state
	return c.cmd.ProcessState.ExitCode()
}

// checkFiles opens a database after a fault and holds it to the invariants.
func checkFiles(t *testing.T, path string, acked []journaltest.Acked) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatalf("open after the fault: %v", err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := bothOrNeither(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := journaltest.CheckInvariants(t.Context(), s, acked); err != nil {
		t.Fatal(err)
	}
}

// bothOrNeither checks that records and ledger entries of one batch were kept
// together: every record but those of the checks has its entry.
func bothOrNeither(ctx context.Context, s *sqlite.Store) error {
	entries := map[string]int{}
	for stored, err := range s.LedgerEntries(ctx, 1) {
		if err != nil {
			return err
		}
		e, err := ledger.Open(stored)
		if err != nil {
			return err
		}
		entries[e.Session]++
	}
	metas, err := s.List(ctx, journal.Query{Limit: 1 << 30})
	if err != nil {
		return err
	}
	for _, m := range metas {
		n := 0
		for r, err := range s.Read(ctx, m.Session, 1) {
			if err != nil {
				return err
			}
			if string(r.Line) == string(lineOf(m.Session, r.Seq)) {
				n++
			}
		}
		if n != entries[m.Session] {
			return fmt.Errorf("session %s: %d records and %d ledger entries", m.Session, n, entries[m.Session])
		}
	}
	return nil
}
