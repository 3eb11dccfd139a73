package client

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// logLevels are those of the specification, least severe first.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// Check says whether a definition can run. It fails with an *Error of class
// "config".
func (d Definition) Check() error {
	d = d.WithDefaults()
	if d.Transport == nil {
		return fault("no transport")
	}
	revisions := []string{
		protocol.RevisionAuto, protocol.Revision20260728, protocol.Revision20251125,
		protocol.Revision20250618, protocol.Revision20250326, protocol.Revision20241105,
	}
	choices := []struct {
		what, value string
		known       []string
	}{
		{"protocol revision", d.Revision, revisions},
		{"compat profile", d.Compat, []string{CompatStrict, CompatDefault, CompatLegacy}},
		{"freeText", d.FreeText, []string{"", FreeTextAllow, FreeTextConfirm, FreeTextRefuse}},
		{"discovery", d.Discovery, []string{DiscoveryAuto, DiscoveryEager, DiscoveryLazy}},
		{"log level", d.LogLevel, append([]string{""}, logLevels...)},
	}
	if d.Sampling != nil {
		choices = append(choices, struct {
			what, value string
			known       []string
		}{"sampling.approve", d.Sampling.Approve, []string{ApproveAsk, ApproveReply, ApproveAuto}})
	}
	for _, c := range choices {
		if !slices.Contains(c.known, c.value) {
			return fault("unknown %s %q (known: %s)", c.what, c.value, strings.TrimPrefix(strings.Join(c.known, ", "), ", "))
		}
	}
	return checkRoots(d.Roots, d.Limits.Roots)
}

func checkRoots(roots []string, limit int) error {
	if len(roots) > limit {
		return &protocol.Error{
			Class: protocol.ClassConfig, Op: "configure", Limit: int64(limit), Size: int64(len(roots)), Setting: "limits.roots",
			Message: fmt.Sprintf("too many roots: %d over the limit of %d (setting limits.roots)", len(roots), limit),
		}
	}
	for _, r := range roots {
		if !filepath.IsAbs(r) || strings.ContainsRune(r, 0) {
			return fault("the root %q is not an absolute path", r)
		}
	}
	return nil
}

func fault(format string, args ...any) error {
	return &protocol.Error{Class: protocol.ClassConfig, Op: "configure", Message: fmt.Sprintf(format, args...)}
}
