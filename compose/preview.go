package compose

import (
	"context"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/integration"
)

// Preview implements integration.Port. What a person can mend in the form comes
// back as form.Errors.
func (p *Port) Preview(_ context.Context, c integration.Change) (integration.Preview, error) {
	s, err := p.fromForm(c)
	if err != nil {
		return integration.Preview{}, err
	}
	if _, exists := p.server(s.Name); exists != (c.Op == integration.OpReplace) {
		return integration.Preview{}, existence(c.Op, s.Name)
	}
	b, err := p.app.binding(s)
	if err != nil {
		return integration.Preview{}, formFault(err)
	}
	fp, err := entry{s, b}.fingerprint()
	if err != nil {
		return integration.Preview{}, formFault(exit.New(exit.Usage, "%w", err))
	}
	out := integration.Preview{Fingerprint: fp.Digest}
	for _, l := range fp.Lines {
		if l.Replaces() {
			continue
		}
		out.Facts = append(out.Facts, integration.Fact{Label: l.Label, Value: l.Value})
	}
	if s.Endpoint() {
		out.Warnings = append(out.Warnings, fp.Warnings...)
	}
	if fp.Mutable != "" {
		out.Warnings = append(out.Warnings, fp.Mutable)
	}
	return out, nil
}
