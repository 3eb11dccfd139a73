package client

import (
	"context"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// fileRoots are absolute paths as the server is told of them. Nil stays nil:
// the capability is then not advertised.
func fileRoots(paths []string) []protocol.Root {
	if paths == nil {
		return nil
	}
	out := make([]protocol.Root, 0, len(paths))
	for _, p := range paths {
		p = filepath.ToSlash(filepath.Clean(p))
		uri := url.URL{Scheme: "file"}
		switch {
		case strings.HasPrefix(p, "//"): // a share: its host is the URI's
			host, rest, _ := strings.Cut(strings.TrimPrefix(p, "//"), "/")
			uri.Host, uri.Path = host, "/"+rest
		case !strings.HasPrefix(p, "/"): // a drive
			uri.Path = "/" + p
		default:
			uri.Path = p
		}
		out = append(out, protocol.Root{URI: uri.String(), Name: path.Base(p)})
	}
	return out
}

// Roots are the paths that the server is told of.
func (c *Client) Roots() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.roots)
}

// SetRoots replaces the paths that the server is told of, for this connection
// and later ones; a server that is connected hears of the change where its
// revision has a way. It fails with an *Error of class "config" when a path is
// not absolute, or when the definition declares no roots, because the
// capability was then never offered.
func (c *Client) SetRoots(ctx context.Context, paths []string) error {
	if err := c.PutRoots(paths); err != nil {
		return err
	}
	return c.TellRoots(ctx)
}

// PutRoots is the part of SetRoots that asks no server; TellRoots is to follow.
func (c *Client) PutRoots(paths []string) error {
	if c.def.Roots == nil {
		return fault("the definition declares no roots")
	}
	if err := checkRoots(paths, c.def.Limits.Roots); err != nil {
		return err
	}
	next := append([]string{}, paths...)
	c.mu.Lock()
	c.roots = next
	c.mu.Unlock()
	return nil
}

// TellRoots tells a server that is connected of the roots as they are now.
func (c *Client) TellRoots(ctx context.Context) error {
	if _, ok := c.Serving(); !ok {
		return nil
	}
	return c.do(ctx, "roots/list_changed", "", nil, func(ctx context.Context, s Session, _ *clock) error {
		// One after the other, so that the last one told is the newest.
		c.telling.Lock()
		defer c.telling.Unlock()
		return s.SetRoots(ctx, fileRoots(c.Roots()))
	})
}
