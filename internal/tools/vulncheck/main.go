// Command vulncheck runs govulncheck where its database can be reached, and says so
// where it cannot. The database is asked for at $GOVULNDB, else at its public
// address; without an answer within a few seconds the check is skipped, aloud, with
// exit code 0.
//
// The command imports the standard library alone.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// scanner is the pinned version of the check.
	scanner = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"
	// publicDatabase is the default of govulncheck itself.
	publicDatabase = "https://vuln.go.dev"
	probeTimeout   = 5 * time.Second
)

func main() {
	db := os.Getenv("GOVULNDB")
	if db == "" {
		db = publicDatabase
	}
	ctx := context.Background()
	if err := reachable(ctx, db); err != nil {
		fmt.Println("govulncheck: skipped: no database:", err)
		return
	}
	cmd := exec.CommandContext(ctx, "go", "run", scanner, "-db", db, "./...")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "govulncheck:", err)
		os.Exit(1)
	}
}

// reachable reports why the index of a vulnerability database cannot be read.
func reachable(ctx context.Context, db string) error {
	u, err := url.Parse(db)
	if err != nil {
		return err
	}
	if u.Scheme == "file" {
		_, err := os.Stat(filepath.Join(filepath.FromSlash(u.Path), "index", "db.json"))
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, strings.TrimSuffix(db, "/")+"/index/db.json", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", db, resp.Status)
	}
	return nil
}
