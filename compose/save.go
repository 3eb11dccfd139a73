package compose

import (
	"context"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/integration"
)

// saveServer keeps an added or replaced entry in the home's mcp.json.
func (a *App) saveServer(s config.Server) error {
	return a.editHome(func(f *config.MCPFile) error {
		f.Set(s.Name, s.Entry)
		return nil
	})
}

// saveChange keeps an enabling, a disabling or a removal.
func (a *App) saveChange(op integration.Op, s config.Server, by string) error {
	if op == integration.OpDisable && a.opt.MCPConfig == "" {
		if err := a.pins.Disable(s.Name, by, a.now()); err != nil {
			return err
		}
	}
	return a.editHome(func(f *config.MCPFile) error {
		if _, there := f.Raw(s.Name); !there {
			if op == integration.OpRemove {
				return nil
			}
			f.Set(s.Name, s.Entry)
		}
		switch op {
		case integration.OpRemove:
			f.Remove(s.Name)
			return nil
		case integration.OpEnable:
			return f.SetEnabled(s.Name, true)
		case integration.OpDisable:
			return f.SetEnabled(s.Name, false)
		case integration.OpAdd, integration.OpReplace, integration.OpReconnect:
		}
		return nil
	})
}

// editHome changes the file anew, so that what others wrote meanwhile is kept.
// A file given with --mcp-config is never written.
func (a *App) editHome(edit func(*config.MCPFile) error) error {
	if a.opt.MCPConfig != "" {
		return exit.New(exit.Usage, "the change holds for this session: %s was given with --mcp-config and is never written", a.opt.MCPConfig)
	}
	return EditMCP(MCPPath(a.home), a.env, edit)
}

// EditMCP loads an mcp.json, changes it and writes it back.
func EditMCP(path string, env config.Env, edit func(*config.MCPFile) error) error {
	f, err := config.LoadMCP(path, env, false)
	if err != nil {
		return exit.New(exit.Usage, "%w", err)
	}
	if err := edit(f); err != nil {
		return exit.New(exit.Usage, "%w", err)
	}
	if err := f.Save(); err != nil {
		return exit.New(exit.Internal, "%s was not written: %w", path, err)
	}
	return nil
}

// acceptShown pins what the person has just seen whole and confirmed.
func (t *trust) acceptShown(ctx context.Context, e entry, by string) error {
	fp, err := e.fingerprint()
	if err != nil {
		return exit.New(exit.Usage, "server %s: %w", e.server.Name, err)
	}
	_, previous := check(t.app.pins, e.server.Name, fp)
	_, err = t.accept(ctx, e.server, fp, previous, by)
	return err
}
