package config

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/looprig/looprig/compose/config/doc"
)

// Config is a loaded config.yaml.
type Config struct {
	Path string
	// Model is the model of a session: "operator", a provider's name, or
	// PROVIDER/MODEL. "" has one looked for.
	Model     string
	Models    Models
	Providers []Provider
	Loops     []Loop
	// Policy rules as written; the policy package compiles them.
	Policy Policy
	UI     UI
	Ledger Ledger
	Limits Limits
}

// Loop configures one loop.
type Loop struct {
	Name   string
	System string
	// Model is as Config.Model; "" is the session's.
	Model string
	// Policy has the rules of this loop alone.
	Policy Policy
	// Delegates are the loops that its model may give tasks to.
	Delegates []string
	Limits    LoopLimits
}

// Ledger configures how the record of decisions is kept.
type Ledger struct {
	// Anchor is the directory that the ledger's head is kept in, an absolute path;
	// "" is that of the user's state.
	Anchor string
}

// UI configures the interface.
type UI struct {
	Theme string
	Keys  map[string][]string
}

// LoadConfig reads a config.yaml. A missing file is an empty configuration
// unless must is set.
func LoadConfig(path string, env Env, must bool) (*Config, error) {
	src, err := ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return &Config{Path: path}, nil
	}
	if err != nil {
		return nil, err
	}
	root, err := doc.ParseYAML(path, src)
	if err != nil {
		return nil, err
	}
	c := &Config{Path: path}
	if root.Kind == doc.Null {
		return c, nil
	}
	r := &doc.Reader{File: path, Expand: env.Expand}
	o := r.Object(root, "")
	c.readModels(o)
	c.Loops = ReadLoops(r, o.Sub("loops"))
	c.Policy = ReadPolicy(r, o.Sub("policy"))
	c.Limits = readLimits(o.Sub("limits"))
	led := o.Sub("ledger")
	c.Ledger.Anchor = led.String("anchor", "")
	if c.Ledger.Anchor != "" && !filepath.IsAbs(c.Ledger.Anchor) {
		led.Fail("anchor", "the directory of the ledger's head must be an absolute path")
	}
	led.Done()
	ui := o.Sub("ui")
	c.UI.Theme = ui.OneOf("theme", "", "auto", "light", "dark", "mono", "contrast")
	keys := ui.Sub("keys")
	for _, m := range keys.Members() {
		if c.UI.Keys == nil {
			c.UI.Keys = map[string][]string{}
		}
		c.UI.Keys[m.Key] = keys.Strings(m.Key)
	}
	ui.Done()
	o.Done()
	return c, r.Err()
}
