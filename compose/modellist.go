package compose

import (
	"context"
	"os"
	"strings"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/compose/provider"
	"github.com/looprig/looprig/harness/model/operator"
)

// ModelList is what models there are.
type ModelList struct {
	Endpoints []ModelEndpoint
	// Wanted is the name of a session's model where one is given, else "";
	// Source is what gives it.
	Wanted, Source string
	// WantedFault says why there is no such model.
	WantedFault error
}

// ModelEndpoint is one place where models may be.
type ModelEndpoint struct {
	provider.Listing
	// Used says that a session which names no model has one from here.
	Used bool
	// Contexts are the sizes of the contexts of Models, in their order.
	Contexts []ContextSize
}

// ListModels asks every endpoint that is configured, has a key in the
// environment or is on this machine for its models, all at once. Nothing is
// written and no server of tools is started.
func ListModels(ctx context.Context, opt Options) (ModelList, error) {
	if opt.Env == nil {
		opt.Env = os.Environ()
	}
	env := config.EnvOf(opt.Env)
	home, err := Home(opt.Home, env)
	if err != nil {
		return ModelList{}, err
	}
	conf, err := loadConfig(home, opt.ConfigFile, env)
	if err != nil {
		return ModelList{}, err
	}
	m := newModels(conf, opt)
	look, err := m.detect()
	if err != nil {
		return ModelList{}, err
	}
	list := provider.List(ctx, provider.ListOptions{DetectOptions: look, Configured: m.configs()})
	if err := ctx.Err(); err != nil {
		return ModelList{}, exit.New(exit.Interrupted, "interrupted: %w", err)
	}
	out := ModelList{Endpoints: make([]ModelEndpoint, len(list))}
	for i, l := range list {
		out.Endpoints[i].Listing, out.Endpoints[i].Contexts = l, m.contexts(l)
	}
	out.Wanted, out.Source, out.WantedFault = m.wanted(opt.Model)
	if out.WantedFault != nil || out.Wanted == operator.Name {
		return out, nil
	}
	if out.Wanted != "" {
		_, out.WantedFault = m.named(ctx, out.Wanted)
	}
	if used := m.used(ctx, list, out.Wanted, look); used >= 0 {
		out.Endpoints[used].Used = true
	}
	return out, nil
}

// configs are all entries of providers, with or without their keys.
func (m *models) configs() []provider.Config {
	var out []provider.Config
	for _, p := range m.conf.Providers {
		cfg, _, _ := m.entry(p, "") // without a key the listing says so
		if cfg.Model == "" {
			cfg.Model = "-" // a list needs none
		}
		out = append(out, cfg)
	}
	return out
}

// used is the endpoint that has the session's model, -1 for none.
func (m *models) used(ctx context.Context, list []provider.Listing, wanted string, look provider.DetectOptions) int {
	head, _, _ := strings.Cut(wanted, "/")
	if wanted == "" {
		found := provider.Detect(ctx, look)
		if !found.Found {
			return -1
		}
		head, _, _ = strings.Cut(found.Config.Name, "/")
	}
	for i, l := range list { // configured ones come first
		if l.Name == head {
			return i
		}
	}
	return -1
}

func loadConfig(home, file string, env config.Env) (*config.Config, error) {
	path, must := home+string(os.PathSeparator)+configFileName, false
	if file != "" {
		path, must = file, true
	}
	conf, err := config.LoadConfig(path, env, must)
	if err != nil {
		return nil, exit.New(exit.Usage, "%w", err)
	}
	return conf, checkProviders(conf)
}
