package compose

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/mcpadapter"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/transport"
	"github.com/looprig/looprig/mcpadapter/transport/stdio"
)

// demoServer is the entry that stands in where nothing is configured.
// It means what the same entry means in mcp.json.
func demoServer() config.Server {
	s, err := config.ParseServer("demo", []byte(`{"builtin":"demo"}`), nil)
	if err != nil {
		panic(err) // a constant that its reader refuses
	}
	s.Source = "built in"
	return s
}

// servers joins the file's entries with those of the run. A script may repeat an
// entry of the file, as recorded ones do; whether it is enabled is then the
// script's to say.
func (a *App) servers() ([]config.Server, error) {
	all := slices.Clone(a.mcp.Servers)
	for _, s := range a.opt.Servers {
		i := slices.IndexFunc(all, func(o config.Server) bool { return o.Name == s.Name })
		if i >= 0 && sameEntry(all[i].Entry, s.Entry) {
			all[i].Enabled = s.Enabled
			continue
		}
		if i >= 0 {
			return nil, exit.New(exit.Usage, "the server %q is both in %s and in %s: rename one of them", s.Name, all[i].Source, s.Source)
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		all = append(all, demoServer())
	}
	if a.opt.Only == "" {
		return all, nil
	}
	for _, s := range all {
		if s.Name == a.opt.Only {
			s.Required = s.Enabled
			return []config.Server{s}, nil
		}
	}
	if a.opt.Only == "demo" {
		return []config.Server{demoServer()}, nil
	}
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	there := "none"
	if len(names) > 0 {
		there = strings.Join(names, ", ")
	}
	return nil, exit.New(exit.Usage, "no server is called %q%s; there are: %s", a.opt.Only, suggest(a.opt.Only, names), there)
}

// binding turns a configured entry into the adapter's terms.
func (a *App) binding(s config.Server) (mcpadapter.Binding, error) {
	b := mcpadapter.Binding{
		Name: s.Name, Scope: mcpadapter.Scope(s.Scope), Loop: s.Loop, Visibility: mcpadapter.AllLoops(),
		Required: s.Required || a.opt.Strict, Disabled: !s.Enabled,
	}
	if s.Visibility != nil {
		b.Visibility = mcpadapter.Named(s.Visibility...)
	}
	if !s.Valid() {
		b.Fault = &mcpadapter.Fault{Position: s.Faults[0].Position(), Text: s.Faults.Error()}
		return b, nil
	}
	tr, err := a.transport(s)
	if err != nil {
		return b, exit.New(exit.Usage, "server %s: %w", s.Name, err)
	}
	b.Server = a.definition(s)
	b.Server.Transport = tr
	return b, nil
}

func (a *App) definition(s config.Server) client.Definition {
	d := client.Definition{
		Name: s.Name, Revision: s.Protocol, Builtin: s.Builtin != "",
		StartTimeout: s.StartupTimeout, RequestTimeout: s.RequestTimeout,
		ToolAllow: s.ToolAllow, ToolDeny: s.ToolDeny, Compat: s.Compat, Discovery: s.Discovery,
		Elicitation: s.Elicitation, FreeText: s.FreeText, Roots: s.Roots, LogLevel: s.LogLevel,
		TrustAnnotations: s.TrustAnnotations || s.Builtin != "",
		Parallel:         s.Parallel || s.Builtin != "", Version: a.opt.Version, Limits: limits(s.Limits),
	}
	if s.Sampling {
		p := s.SamplingPolicy
		d.Sampling = &client.SamplingPolicy{
			Model: p.Model, Approve: p.Approve, TokenBudget: p.TokenBudget, MaxTokens: p.MaxTokens,
			Depth: p.Depth, Concurrency: p.Concurrency, Tools: p.Tools,
		}
	}
	return d
}

// transport is how a server is reached.
func (a *App) transport(s config.Server) (transport.Transport, error) {
	if s.Endpoint() {
		return endpointTransport(s, a.opt.Env)
	}
	cfg, err := a.launch(s)
	if err != nil {
		return nil, err
	}
	return stdio.New(cfg)
}

// launch is how a stdio server or the built-in one is started.
func (a *App) launch(s config.Server) (stdio.Config, error) {
	if s.Builtin == "" {
		return stdio.Config{
			Command: s.Command, Args: s.Args, Dir: s.Cwd, Env: maps.Clone(s.Env),
			InheritEnv: s.InheritEnv, SHA256: s.SHA256, HostEnv: a.opt.Env,
		}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return stdio.Config{}, fmt.Errorf("find the own executable: %w", err)
	}
	return stdio.Config{Command: self, Args: []string{"demo-server"}, HostEnv: a.opt.Env}, nil
}
