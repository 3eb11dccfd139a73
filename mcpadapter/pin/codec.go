package pin

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// version is the format of the file.
const version = 1

// document is the file.
type document struct {
	Version int   `json:"version"`
	Pins    []Pin `json:"pins"`
}

// FormatError says where the file of pins is not what it should be.
type FormatError struct {
	Path string
	// Line and Column count from 1; 0 where the place is not known.
	Line, Column int
	Reason       string
	Err          error
}

func (e *FormatError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Path, e.Reason)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Reason)
}

func (e *FormatError) Unwrap() error { return e.Err }

// decode reads the file strictly: unknown and duplicate keys, other versions
// and values that no change of ours would have written are refused.
func decode(path string, raw []byte) ([]Pin, error) {
	var doc document
	if err := json.Unmarshal(raw, &doc, json.RejectUnknownMembers(true)); err != nil {
		return nil, located(path, raw, err)
	}
	if doc.Version != version {
		return nil, &FormatError{Path: path, Reason: fmt.Sprintf("version %d is not known (this looprig knows %d)", doc.Version, version)}
	}
	if len(doc.Pins) > maxPins {
		return nil, &FormatError{Path: path, Reason: fmt.Sprintf("more than %d pins", maxPins)}
	}
	accepted := map[pinKey]bool{}
	for i, p := range doc.Pins {
		if err := p.check(); err != nil {
			return nil, &FormatError{Path: path, Reason: fmt.Sprintf("pins[%d]: %v", i, err), Err: err}
		}
		if p.State == Accepted && accepted[p.key()] {
			return nil, &FormatError{Path: path, Reason: fmt.Sprintf("pins[%d]: a second accepted fingerprint for %s of %q", i, p.Layer, p.Binding)}
		}
		accepted[p.key()] = accepted[p.key()] || p.State == Accepted
	}
	return doc.Pins, nil
}

// located turns a decoder's error into a place and a reason.
func located(path string, raw []byte, err error) *FormatError {
	e := &FormatError{Path: path, Reason: "is not understood", Err: err}
	var (
		syntax  *jsontext.SyntacticError
		meaning *json.SemanticError
		offset  int64
		pointer jsontext.Pointer
	)
	switch {
	case errors.As(err, &syntax):
		offset, pointer = syntax.ByteOffset, syntax.JSONPointer
		e.Reason = "is not valid JSON"
		if errors.Is(err, jsontext.ErrDuplicateName) {
			e.Reason = "has a key twice"
		}
	case errors.As(err, &meaning):
		offset, pointer = meaning.ByteOffset, meaning.JSONPointer
		e.Reason = "has a value of the wrong type"
		if errors.Is(err, json.ErrUnknownName) {
			e.Reason = "has an unknown key"
		}
	default:
		return e
	}
	if pointer != "" {
		e.Reason += fmt.Sprintf(" at %q", pointer)
	}
	before := raw[:min(max(int(offset), 0), len(raw))]
	e.Line = bytes.Count(before, []byte("\n")) + 1
	e.Column = len(before) - bytes.LastIndexByte(before, '\n')
	return e
}

// check holds a pin against what Accept and Refuse write.
func (p Pin) check() error {
	switch {
	case !named(p.Binding):
		return errors.New("binding is empty, too long or holds control characters")
	case p.Layer != LayerLaunch && p.Layer != LayerEndpoint && p.Layer != LayerServer && p.Layer != LayerTool:
		return fmt.Errorf("layer %q is not known", p.Layer)
	case (p.Layer == LayerTool) != (p.Name != ""):
		return errors.New("name belongs to the tool layer, and only to it")
	case len(p.Name) > 2*maxText:
		return errors.New("name is too long")
	case !isFingerprint(p.Fingerprint):
		return errors.New(`fingerprint is not "sha256:" and 64 lower-case hexadecimal digits`)
	case p.State != Accepted && p.State != Refused:
		return fmt.Errorf("state %q is not known", p.State)
	case !named(p.Who):
		return errors.New("who is empty, too long or holds control characters")
	case p.When.IsZero():
		return errors.New("when is missing")
	case p.Previous != nil && !isFingerprint(p.Previous.Fingerprint):
		return errors.New("previous has no fingerprint")
	case p.Disabled != nil && (p.State != Accepted || !named(p.Disabled.Who) || p.Disabled.When.IsZero()):
		return errors.New("disabled belongs to what is accepted, with who and when")
	}
	return nil
}

func named(text string) bool {
	return text != "" && len(text) <= maxText && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func isFingerprint(text string) bool {
	digits, ok := strings.CutPrefix(text, "sha256:")
	raw, err := hex.DecodeString(digits)
	return ok && err == nil && len(raw) == 32 && digits == strings.ToLower(digits)
}

// writeStore replaces the file atomically, readable by its owner only.
func writeStore(path string, pins []Pin) (err error) {
	if pins == nil {
		pins = []Pin{}
	}
	raw, err := json.Marshal(document{Version: version, Pins: pins}, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = temp.Close()
			_ = os.Remove(temp.Name())
		}
	}()
	if _, err = temp.Write(append(raw, '\n')); err != nil {
		return err
	}
	if err = temp.Sync(); err != nil {
		return err
	}
	if err = temp.Close(); err != nil {
		return err
	}
	if err = os.Rename(temp.Name(), path); err != nil {
		return err
	}
	syncDir(dir)
	return nil
}

// lockFile takes an exclusive lock, bounded in time.
func lockFile(path string, wait time.Duration) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	const poll = 10 * time.Millisecond
	for deadline := time.Now().Add(wait); ; time.Sleep(poll) {
		held, err := tryLock(file)
		if held {
			return func() { _ = file.Close() }, nil // closing unlocks
		}
		if err == nil && !time.Now().Before(deadline) {
			err = ErrLocked
		}
		if err != nil {
			_ = file.Close()
			return nil, err
		}
	}
}
