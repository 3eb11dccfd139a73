package compose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/compose/keyring"
	"github.com/looprig/looprig/compose/provider"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/model/operator"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter"
)

// The variables that stand before config.yaml.
const (
	modelVariable = "LOOPRIG_MODEL"
	probeVariable = "LOOPRIG_MODELS_PROBE"
)

// models makes the clients of the models that configuration names. Nothing is
// looked for, read or sent before somebody needs a model: most commands need
// none.
type models struct {
	conf    *config.Config
	environ []string
	env     config.Env
	locals  []provider.Local

	mu   sync.Mutex
	made map[string]model.Client
}

func newModels(conf *config.Config, opt Options) *models {
	locals := opt.Locals
	if locals == nil {
		locals = provider.Locals()
	}
	return &models{conf: conf, environ: opt.Env, env: config.EnvOf(opt.Env), locals: locals, made: map[string]model.Client{}}
}

// named is the model of a name: "operator", an entry of providers, a vendor
// whose key is in the environment, a server on this machine, and any of them
// with "/MODEL". It fails with an *exit.Error that says what to do.
func (m *models) named(ctx context.Context, name string) (model.Client, error) {
	if name == operator.Name {
		return operator.Client{}, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.made[name]; ok {
		return c, nil
	}
	cfg, key, err := m.config(ctx, name)
	if err != nil {
		return nil, err
	}
	c, err := m.client(cfg, key)
	if err != nil {
		return nil, err
	}
	m.made[name] = c
	return c, nil
}

// client makes the client of a configuration whose key is from somewhere.
func (m *models) client(cfg provider.Config, key string) (model.Client, error) {
	cfg = m.sized(cfg)
	c, err := provider.New(cfg)
	var bad *provider.ConfigError
	switch {
	case errors.As(err, &bad):
		return nil, modelFault("the model %s: %s %s", safetext.ToLine(cfg.Name), keyOf(bad.Field), bad.Reason)
	case err != nil:
		return nil, modelFault("the model %s: %w", safetext.ToLine(cfg.Name), err)
	}
	return m.described(cfg, spoken{c, key}), nil
}

// keyOf is how config.yaml calls a field.
func keyOf(field string) string {
	if field == "base_url" {
		return "baseUrl"
	}
	return field
}

func modelFault(format string, args ...any) *exit.Error {
	return exit.New(exit.Usage, format, args...).WithHint("looprig models lists what can be used and why the rest cannot; --model operator needs no model")
}

// config finds what a name stands for, and where its key is from.
func (m *models) config(ctx context.Context, name string) (provider.Config, string, error) {
	head, id, _ := strings.Cut(name, "/")
	if i := slices.IndexFunc(m.conf.Providers, func(p config.Provider) bool { return p.Name == head }); i >= 0 {
		return m.configured(m.conf.Providers[i], id)
	}
	if v, ok := provider.VendorNamed(head); ok {
		return m.configured(config.Provider{Name: v.Name}, id)
	}
	if i := slices.IndexFunc(m.locals, func(l provider.Local) bool { return l.Name == head }); i >= 0 {
		return m.local(ctx, m.locals[i], id)
	}
	known := m.names()
	return provider.Config{}, "", modelFault("the model %q is not known%s: a model is operator, an entry of providers in %s, or PROVIDER/MODEL with one of %s",
		safetext.ToLine(name), suggest(head, known), m.conf.Path, strings.Join(known[1:], ", "))
}

// names are all first parts of names, the operator first.
func (m *models) names() []string {
	out := []string{operator.Name}
	for _, p := range m.conf.Providers {
		out = append(out, p.Name)
	}
	for _, v := range provider.Vendors() {
		out = append(out, v.Name)
	}
	for _, l := range m.locals {
		out = append(out, l.Name)
	}
	return out
}

// configured is an entry of providers, with another model of its endpoint if
// one is named.
func (m *models) configured(p config.Provider, id string) (provider.Config, string, error) {
	cfg, key, err := m.entry(p, id)
	switch {
	case err != nil:
		return cfg, key, modelFault("the model %s: %w", safetext.ToLine(cfg.Name), err)
	case cfg.Model == "":
		return cfg, key, modelFault("the provider %s names no model: give it one with model:, or write %s/MODEL", p.Name, p.Name)
	}
	return cfg, key, nil
}

// entry makes the configuration of an entry. Its error says why there is no key;
// the configuration is usable but for that.
func (m *models) entry(p config.Provider, id string) (provider.Config, string, error) {
	cfg := provider.Config{
		Kind: provider.Kind(p.Kind), BaseURL: p.BaseURL, Model: firstOf(id, p.Model), Name: p.Name, Display: p.Display, Headers: p.Headers,
		ContextTokens: p.ContextTokens, MaxTokens: p.MaxTokens, Effort: p.Effort, ThinkingTokens: p.ThinkingTokens,
		NoStream: p.NoStream, NoImages: p.NoImages, IdleTimeout: p.IdleTimeout,
	}
	if id != "" {
		cfg.Name += "/" + id
	}
	vendor, own := vendorOf(p)
	if cfg.Kind == "" {
		cfg.Kind = vendor.Kind
	}
	if own {
		cfg.BaseURL = vendor.BaseURL
		if cfg.Model == "" && vendor.Name == p.Name {
			cfg.Model = vendor.Model
		}
	}
	from, err := m.key(&cfg, p, vendor, own)
	return cfg, from, err
}

// vendorOf is the vendor that an entry means, and whether its requests go to the
// vendor's own endpoint: only there does a vendor's key go unasked.
func vendorOf(p config.Provider) (v provider.Vendor, own bool) {
	v, named := provider.VendorNamed(p.Name)
	if named && (p.Kind == "" || p.Kind == string(v.Kind)) {
		return v, p.BaseURL == ""
	}
	for _, v := range provider.Vendors() {
		same := v.Kind == provider.Kind(p.Kind) || v.Name == "openai" && p.Kind == string(provider.OpenAIChat)
		if same {
			return v, p.BaseURL == ""
		}
	}
	return provider.Vendor{}, false
}

// key sets where the key of a model is from, and names it for people.
func (m *models) key(cfg *provider.Config, p config.Provider, vendor provider.Vendor, own bool) (string, error) {
	names := []string{p.KeyEnv}
	switch {
	case len(p.KeyCommand) > 0:
		cfg.Key = newKeyCommand(p.KeyCommand, m.environ).key
		return "the program of keyCommand", nil
	case p.Keyring != keyring.Item{}:
		cfg.Key = newKeyring(p.Keyring, m.environ).key
		return "the keyring, under " + p.Keyring.String(), nil
	case p.KeyEnv == "" && !own:
		return "", nil
	case p.KeyEnv == "":
		names = vendor.KeyEnv
	}
	found, key := provider.KeyFromEnv(m.environ, names...)
	if key != nil {
		cfg.Key = key
		return found, nil
	}
	err := fmt.Errorf("there is no key: set %s, or say with keyEnv, keyring or keyCommand in %s where it is", strings.Join(names, " or "), m.conf.Path)
	cfg.Key = func(context.Context) (string, error) { return "", err }
	return "", err
}

// local is a server on this machine; without a model its first one, which is
// asked for.
func (m *models) local(ctx context.Context, l provider.Local, id string) (provider.Config, string, error) {
	if id != "" {
		return provider.Config{Kind: provider.OpenAIChat, BaseURL: l.BaseURL, Model: id, Name: l.Name + "/" + id}, "", nil
	}
	found := provider.Detect(ctx, provider.DetectOptions{Locals: []provider.Local{l}})
	if !found.Found {
		reason := "it has no model"
		if n := len(found.Tried); n > 0 {
			reason = found.Tried[n-1].Reason
		}
		return provider.Config{}, "", modelFault("the model server %s at %s cannot be used: %s", l.Name, l.BaseURL, reason)
	}
	return found.Config, "", nil
}

// wanted is the name that flags, environment and file give for the session's
// model, and which of them; "" where none does.
func (m *models) wanted(flag string) (name, source string, err error) {
	if flag != "" {
		return flag, "--model", nil
	}
	if name, _ := m.env(modelVariable); name != "" {
		return name, modelVariable, nil
	}
	if m.conf.Model != "" {
		return m.conf.Model, m.conf.Path, nil
	}
	switch len(m.conf.Providers) {
	case 0:
		return "", "", nil
	case 1:
		return m.conf.Providers[0].Name, m.conf.Path, nil
	}
	return "", "", modelFault("%s has several providers and no model: say which one with model: NAME", m.conf.Path)
}

// find is the session's model: the one that is named, else one that needs no
// configuration. client is nil where there is none; note says how one was found
// that nobody named. later, where it is given, is told where to look for a server
// on this machine, instead of looking there now.
func (m *models) find(ctx context.Context, flag string, later func(provider.DetectOptions)) (client model.Client, note string, err error) {
	name, _, err := m.wanted(flag)
	if err != nil {
		return nil, "", err
	}
	if name != "" {
		client, err = m.named(ctx, name)
		return client, "", err
	}
	look, err := m.detect()
	if err != nil {
		return nil, "", err
	}
	now := look
	now.NoProbe = look.NoProbe || later != nil
	found := provider.Detect(ctx, now)
	if !found.Found {
		if later != nil {
			later(look)
		}
		return nil, "", ctx.Err()
	}
	return m.found(found)
}

// found makes the client of what was found, nil for nothing.
func (m *models) found(found provider.Detection) (client model.Client, note string, err error) {
	if !found.Found {
		return nil, "", nil
	}
	where, from := strings.CutPrefix(found.Source, "env:")
	key := ""
	if from {
		key, note = where, "its key is in "+where
	} else {
		note = "it answers at " + found.Config.BaseURL
	}
	if client, err = m.client(found.Config, key); err != nil {
		return nil, "", err
	}
	m.mu.Lock()
	m.made[found.Config.Name] = client // sampling and a later switch find it by its name
	m.mu.Unlock()
	return client, fmt.Sprintf("the model is %s: nobody named one, and %s; choose with --model or model: in config.yaml", client.Info().Display, note), nil
}

// detect says where to look for a model that nobody named.
func (m *models) detect() (provider.DetectOptions, error) {
	o := provider.DetectOptions{Env: m.environ, NoProbe: m.conf.Models.NoProbe, Locals: m.locals}
	switch v, _ := m.env(probeVariable); v {
	case "":
	case "true", "false":
		o.NoProbe = v == "false"
	default:
		return o, exit.New(exit.Usage, "%s is true or false, not %q", probeVariable, safetext.ToLine(v))
	}
	return o, nil
}

// checkProviders refuses entries that say nothing of how they are spoken to.
func checkProviders(conf *config.Config) error {
	for _, p := range conf.Providers {
		if _, known := provider.VendorNamed(p.Name); p.Kind == "" && !known {
			return exit.New(exit.Usage, "%s:%d:%d: providers.%s has no kind: one of %s", conf.Path, p.Pos.Line, p.Pos.Col, p.Name, strings.Join(config.ProviderKinds, ", "))
		}
	}
	return nil
}

// errNoModel lists what a prompt can do without a model.
func errNoModel() error {
	return exit.New(exit.Usage, "no model is configured and none was found, so nobody can answer a prompt").WithHint(
		"three ways on: give it a model (set ANTHROPIC_API_KEY or another provider's key, start a server such as Ollama, or say --model NAME; looprig models lists them), " +
			"call a tool yourself (looprig call BINDING TOOL, or -p '/call BINDING TOOL {…}' --model operator), " +
			"or declare a model's replies in a script (looprig --headless --script FILE)")
}

// chooseModel settles the model of the session.
func (a *App) chooseModel(ctx context.Context) error {
	a.models = newModels(a.conf, a.opt)
	a.client = operator.Client{}
	past, err := a.pastModel()
	switch {
	case err != nil:
	case past != "":
		a.client, err = a.models.named(ctx, past)
	case a.opt.Scripted != nil:
		a.client = a.opt.Scripted
	case !a.opt.FindModel && a.opt.Model == "":
	case !a.opt.FindModel:
		a.client, err = a.models.named(ctx, a.opt.Model)
	default:
		err = a.findModel(ctx)
	}
	return err
}

func (a *App) findModel(ctx context.Context) error {
	var later func(provider.DetectOptions)
	if a.opt.Mode == ModeInteractive {
		later = a.owesProbe
	}
	client, note, err := a.models.find(ctx, a.opt.Model, later)
	switch {
	case err != nil:
		return err
	case client == nil && a.opt.Mode == ModeHeadless:
		return errNoModel()
	case client == nil:
		return nil // the operator
	}
	a.client = client
	if note != "" {
		a.note("", "model_found", mcpadapter.LevelInfo, note)
	}
	return nil
}

// loopModel is the model of a loop: its own where the run has not been given
// one for all.
func (a *App) loopModel(ctx context.Context, l config.Loop) (model.Client, error) {
	if name := a.switchedModel(l.Name); name != "" {
		return a.models.named(ctx, name)
	}
	if l.Model == "" || a.opt.Model != "" || !a.opt.FindModel {
		return a.client, nil
	}
	return a.models.named(ctx, l.Model)
}
