//go:build external

// Package conformance runs the official client conformance suite against the
// adapter: the suite starts a server for each scenario and, as its client, this
// test binary, which uses nothing but the adapter's public interface.
package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/demo"
	"github.com/looprig/looprig/mcpadapter/transport/stdio"
)

// suiteBound is more than any scenario takes on a busy machine.
const suiteBound = 2 * time.Minute

// maxRuns bounds how often a scenario is run whose run says nothing.
const maxRuns = 5

// scenarios are those of each revision that are run, all of which must pass.
var scenarios = map[string][]string{
	"2026-07-28": {
		"tools_call",
		"request-metadata",
		"sep-2322-client-request-state",
		"http-standard-headers",
		"http-custom-headers",
		"http-invalid-tool-headers",
		"json-schema-ref-no-deref",
		"json-schema-2020-12-preservation",
	},
	"2025-11-25": {
		"initialize",
		"tools_call",
		"elicitation-sep1034-client-defaults",
		"sse-retry",
		"json-schema-2020-12-preservation",
	},
}

// authorization are the scenarios that are not run: they need OAuth, which the
// adapter does not have yet.
var authorization = map[string][]string{
	"2026-07-28": slices.Concat(everyAuthorization, []string{
		"auth/resource-mismatch",
		"auth/offline-access-scope",
		"auth/offline-access-not-supported",
		"auth/authorization-server-migration",
		"auth/iss-supported",
		"auth/iss-not-advertised",
		"auth/iss-supported-missing",
		"auth/iss-wrong-issuer",
		"auth/iss-unexpected",
		"auth/iss-normalized",
		"auth/metadata-issuer-mismatch",
	}),
	"2025-11-25": everyAuthorization,
}

var everyAuthorization = []string{
	"auth/metadata-default",
	"auth/metadata-var1",
	"auth/metadata-var2",
	"auth/metadata-var3",
	"auth/basic-cimd",
	"auth/scope-from-www-authenticate",
	"auth/scope-from-scopes-supported",
	"auth/scope-omitted-when-undefined",
	"auth/scope-step-up",
	"auth/scope-retry-limit",
	"auth/token-endpoint-auth-basic",
	"auth/token-endpoint-auth-post",
	"auth/token-endpoint-auth-none",
	"auth/pre-registration",
	// Extensions, which no revision requires.
	"auth/client-credentials-jwt",
	"auth/client-credentials-basic",
	"auth/enterprise-managed-authorization",
	"auth/dpop",
	"auth/dpop-nonce",
	"auth/wif-jwt-bearer",
}

func TestMain(m *testing.M) {
	if handled, code := stdio.HelperMain(os.Args); handled {
		os.Exit(code)
	}
	switch {
	case len(os.Args) == 2 && os.Args[1] == demoRole:
		if err := demo.Run(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case os.Getenv(scenarioVar) != "":
		os.Exit(clientMain())
	}
	code := m.Run()
	stdio.CloseHelper()
	os.Exit(code)
}

// suite is a command of the suite, under the Node that was installed with it.
func suite(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	bin := os.Getenv("LOOPRIG_NPM_BIN")
	if bin == "" {
		t.Skip("LOOPRIG_NPM_BIN is not set: run make test-external")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "conformance"), args...)
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Dir = t.TempDir()
	return cmd
}

// A scenario that the suite has and that is neither run nor excused fails here.
func TestEveryScenarioIsAccountedFor(t *testing.T) {
	t.Parallel()
	for revision, run := range scenarios {
		out, err := suite(t.Context(), t, "list", "--client", "--requirements", revision).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		listed, known := clientScenarios(string(out)), slices.Concat(run, authorization[revision])
		slices.Sort(listed)
		slices.Sort(known)
		if !slices.Equal(listed, known) {
			t.Errorf("%s: the suite has\n  %s\nbut known are\n  %s", revision, strings.Join(listed, " "), strings.Join(known, " "))
		}
	}
}

// clientScenarios reads the suite's listing: the client's section, and of the
// scenarios that are reported only those that are marked as the client's.
func clientScenarios(out string) []string {
	var names []string
	section := ""
	for line := range strings.Lines(out) {
		name, item := strings.CutPrefix(strings.TrimSpace(line), "- ")
		name, marked := strings.CutSuffix(name, " [client]")
		switch {
		case !item && strings.TrimSpace(line) != "":
			section = strings.TrimSpace(line)
		case item && (marked || strings.HasPrefix(section, "Client scenarios")):
			names = append(names, name)
		}
	}
	return names
}

func TestConformance(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for revision, names := range scenarios {
		for _, name := range names {
			t.Run(revision+"/"+name, func(t *testing.T) {
				t.Parallel()
				for run := 1; ; run++ {
					out := runScenario(t, self, name, revision)
					if run < maxRuns && out.inconclusive() {
						continue
					}
					out.judge(t)
					return
				}
			})
		}
	}
}

// outcome is what came of one run of a scenario.
type outcome struct {
	err    error // the suite's own verdict
	output string
	checks []check
	stderr string // the client's
}

func runScenario(t *testing.T, self, name, revision string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), suiteBound)
	defer cancel()
	results := t.TempDir()
	out, err := suite(ctx, t, "client", "--command", self, "--scenario", name, "--spec-version", revision, "-o", results).CombinedOutput()
	o := outcome{err: err, output: string(out)}
	o.checks, o.stderr = readResults(t, results)
	return o
}

// inconclusive says that the server gave the answer to a call on the standing
// stream because that was opened a moment after the call. The scenario that
// measures how a call's own stream is opened again takes the one for the other.
func (o outcome) inconclusive() bool {
	called := false
	for _, c := range o.checks {
		var d struct {
			Method  string            `json:"method"`
			RPC     string            `json:"jsonrpcMethod"`
			Headers map[string]string `json:"headers"`
		}
		if c.ID != "incoming-request" || json.Unmarshal(c.Details, &d) != nil {
			continue
		}
		if _, again := d.Headers["last-event-id"]; d.Method == "GET" && !again && called {
			return true
		}
		called = called || d.RPC == "tools/call"
	}
	return false
}

// judge fails for everything that is not well; a warning is not.
func (o outcome) judge(t *testing.T) {
	t.Helper()
	bad := 0
	for _, c := range o.checks {
		if c.Status == "FAILURE" || c.Status == "WARNING" {
			bad++
			t.Errorf("%s %s: %s\n  %s\n  %s", c.Status, c.ID, c.Description, c.ErrorMessage, c.Details)
		}
	}
	if o.err != nil && bad == 0 {
		t.Errorf("%v\n%s", o.err, o.output)
	}
	if len(o.checks) == 0 {
		t.Errorf("nothing was checked:\n%s", o.output)
	}
	if t.Failed() {
		t.Logf("the client said:\n%s", o.stderr)
		for _, c := range o.checks {
			t.Logf("%s %s %s: %s %s", c.Timestamp, c.Status, c.ID, c.Description, c.Details)
		}
	}
}

// check is one finding of the suite.
type check struct {
	ID           string          `json:"id"`
	Timestamp    string          `json:"timestamp"`
	Status       string          `json:"status"`
	Description  string          `json:"description"`
	ErrorMessage string          `json:"errorMessage"`
	Details      json.RawMessage `json:"details"`
}

// readResults finds what the suite wrote about its one scenario.
func readResults(t *testing.T, dir string) (checks []check, stderr string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch filepath.Base(path) {
		case "checks.json":
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(raw, &checks); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		case "stderr.txt":
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			stderr = string(raw)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return checks, stderr
}
