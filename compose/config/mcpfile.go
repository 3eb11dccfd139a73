package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/looprig/looprig/compose/config/doc"
)

// MCPFile is a loaded mcp.json. Saving keeps the text of the entries that were
// not changed, variables included.
type MCPFile struct {
	Path    string
	Servers []Server
	entries []entry
}

type entry struct {
	name string
	raw  []byte
}

// LoadMCP reads an mcp.json. A missing file has no servers unless must is set.
// A file that does not parse is an error; a faulty entry is in Servers with its
// Faults.
func LoadMCP(path string, env Env, must bool) (*MCPFile, error) {
	src, err := ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return &MCPFile{Path: path}, nil
	}
	if err != nil {
		return nil, err
	}
	return parseMCP(path, src, env)
}

func parseMCP(path string, src []byte, env Env) (*MCPFile, error) {
	root, err := doc.ParseJSON(path, src)
	if err != nil {
		return nil, err
	}
	r := &doc.Reader{File: path}
	top := r.Object(root, "")
	servers := top.Node("mcpServers")
	top.Done()
	if err := r.Err(); err != nil {
		return nil, err
	}
	f := &MCPFile{Path: path}
	if servers == nil {
		return f, nil
	}
	if f.Servers, err = ReadServers(path, servers, "mcpServers", env); err != nil {
		return nil, err
	}
	for _, m := range servers.Members {
		f.entries = append(f.entries, entry{name: m.Key, raw: m.Value.Raw})
	}
	return f, nil
}

// Raw returns an entry's own text.
func (f *MCPFile) Raw(name string) (jsontext.Value, bool) {
	for _, e := range f.entries {
		if e.name == name {
			return e.raw, true
		}
	}
	return nil, false
}

// Set adds an entry or replaces its text; Remove deletes it. Neither writes.
func (f *MCPFile) Set(name string, raw []byte) {
	for i, e := range f.entries {
		if e.name == name {
			f.entries[i].raw = raw
			return
		}
	}
	f.entries = append(f.entries, entry{name, raw})
}

// Remove deletes an entry and reports whether it was there.
func (f *MCPFile) Remove(name string) bool {
	for i, e := range f.entries {
		if e.name == name {
			f.entries = append(f.entries[:i], f.entries[i+1:]...)
			return true
		}
	}
	return false
}

// SetEnabled changes the one key "enabled" of an entry and keeps the rest.
func (f *MCPFile) SetEnabled(name string, on bool) error {
	raw, ok := f.Raw(name)
	if !ok {
		return fmt.Errorf("%s has no server %q", f.Path, name)
	}
	root, err := doc.ParseJSON(f.Path, raw)
	if err != nil {
		return err
	}
	value := []byte("false")
	if on {
		value = []byte("true")
	}
	var b bytes.Buffer
	b.WriteByte('{')
	found := false
	for i, m := range root.Members {
		if i > 0 {
			b.WriteByte(',')
		}
		v := m.Value.Raw
		if m.Key == "enabled" {
			v, found = value, true
		}
		if err := member(&b, m.Key, v); err != nil {
			return err
		}
	}
	if !found {
		if len(root.Members) > 0 {
			b.WriteByte(',')
		}
		if err := member(&b, "enabled", value); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	f.Set(name, b.Bytes())
	return nil
}

func member(b *bytes.Buffer, key string, raw []byte) error {
	quoted, err := jsontext.AppendQuote(nil, key)
	if err != nil {
		return err
	}
	b.Write(quoted)
	b.WriteByte(':')
	b.Write(raw)
	return nil
}

// Save writes the file anew: into a temporary file beside it, owner only,
// synced, then renamed over it.
func (f *MCPFile) Save() error {
	var b bytes.Buffer
	b.WriteString(`{"mcpServers":{`)
	for i, e := range f.entries {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := member(&b, e.name, e.raw); err != nil {
			return err
		}
	}
	b.WriteString("}}")
	v := jsontext.Value(b.Bytes())
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return fmt.Errorf("save %s: %w", f.Path, err)
	}
	target := f.Path
	if real, err := filepath.EvalSymlinks(target); err == nil {
		target = real // a link stays a link
	}
	return WriteAtomic(target, append(v, '\n'))
}

// WriteAtomic replaces a file of the home: owner only, synced, renamed over what
// was there.
func WriteAtomic(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".looprig-*") // made with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	if _, err := tmp.Write(data); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := errors.Join(tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
