package ledger

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// An export is NDJSON: first a line of kind "checkpoint", then one entry a line,
// its canonical bytes with two members more at the end: its hash and, on request,
// its audit path in the tree of the checkpoint. What the first line promises is
// what the others have to add up to, so that a file can be verified alone, while
// it is read, and a file that was cut is seen.

// MaxLine bounds a line of an export.
const MaxLine = 1 << 20

// ExportHead is the first line of an export.
type ExportHead struct {
	Kind   Kind   `json:"kind"`
	Origin string `json:"origin"`
	Size   uint64 `json:"size"`
	Root   string `json:"root"`
	// Partial says that not all entries follow: each then has its audit path.
	Partial bool `json:"partial,omitempty"`
	// Note is the signed note of the checkpoint and Key what verifies it. Both are
	// empty where the ledger had no key to sign with.
	Note string `json:"note,omitempty"`
	Key  string `json:"key,omitempty"`
}

// NewExportHead is the first line of an export over a checkpoint.
func NewExportHead(c Checkpoint, note []byte, key string, partial bool) ExportHead {
	return ExportHead{Kind: KindCheckpoint, Origin: c.Origin, Size: c.Size, Root: c.RootText(), Partial: partial, Note: string(note), Key: key}
}

// ExportLine is the line of an entry, without a newline. path is its audit path,
// nil for none.
func ExportLine(s Stored, path []Hash) []byte {
	out := make([]byte, 0, len(s.Body)+128+len(path)*48)
	out = append(out, bytes.TrimSuffix(s.Body, []byte("}"))...)
	out = append(out, `,"hash":`...)
	out = strconv.AppendQuote(out, s.Hash) // hex, or what no reader takes
	if path != nil {
		out = append(out, `,"proof":[`...)
		for i, h := range path {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, '"')
			out = base64.StdEncoding.AppendEncode(out, h[:])
			out = append(out, '"')
		}
		out = append(out, ']')
	}
	return append(out, '}')
}

// FileOptions are what an export is held to besides itself.
type FileOptions struct {
	// Key verifies the signature; "" takes the file's own, which shows only that
	// whoever signed it had that key.
	Key string
	// Heads are checkpoints that the entries have to agree with. They need a whole
	// export.
	Heads []Checkpoint
}

// FileReport is what a verification of an export found.
type FileReport struct {
	Report
	Checkpoint Checkpoint `json:"-"`
	Origin     string     `json:"origin"`
	// Size is how many entries the ledger had; a Partial export has fewer.
	Size    uint64 `json:"size"`
	Partial bool   `json:"partial,omitempty"`
	// Proven counts the audit paths that lead to the root.
	Proven int `json:"proven"`
	// SignedBy is the key that verifies the checkpoint's signature, "" for none.
	SignedBy string `json:"signed_by,omitempty"`
}

// VerifyFile checks an export with nothing but its bytes. It returns a
// *BadEntryError for the first entry that is wrong or missing, and a *HeadError
// where the entries do not add up to the checkpoint.
func VerifyFile(ctx context.Context, r io.Reader, opt FileOptions) (FileReport, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), MaxLine)
	var f file
	f.walk = walk{open: map[string]struct{}{}, without: map[uint64]struct{}{}, redacted: map[uint64]struct{}{}, heads: opt.Heads}
	if !lines.Scan() {
		return f.rep, errors.Join(errors.New("the file has no first line"), lines.Err())
	}
	if err := f.head(lines.Bytes(), opt.Key); err != nil {
		return f.rep, err
	}
	if f.rep.Partial && len(opt.Heads) > 0 {
		return f.rep, errors.New("a part of a ledger cannot be held to a head: export all of it")
	}
	f.holdTo()
	for lines.Scan() {
		if err := ctx.Err(); err != nil {
			return f.rep, err
		}
		if err := f.line(lines.Bytes()); err != nil {
			return f.rep, err
		}
	}
	if err := lines.Err(); err != nil {
		return f.rep, &BadEntryError{Seq: f.last + 1, Reason: "its line cannot be read", Err: err}
	}
	return f.end()
}

// file is the state of a verification of an export.
type file struct {
	walk
	rep  FileReport
	last uint64
}

func (f *file) head(line []byte, key string) error {
	var h ExportHead
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&h); err != nil || h.Kind != KindCheckpoint {
		return errors.Join(errors.New("this is no export of a ledger: the first line is no checkpoint"), err)
	}
	c, err := parseCheckpoint(h.Origin, strconv.FormatUint(h.Size, 10), h.Root)
	if err != nil {
		return err
	}
	f.rep.Checkpoint, f.rep.Origin, f.rep.Size, f.rep.Partial = c, c.Origin, c.Size, h.Partial
	if key == "" {
		key = h.Key
	}
	if h.Note == "" {
		return nil
	}
	signed, err := OpenCheckpoint([]byte(h.Note), key)
	if err != nil {
		return &HeadError{Origin: c.Origin, Head: c.Size, Reason: "the checkpoint's signature does not verify: " + err.Error()}
	}
	if signed != c {
		return &HeadError{Origin: c.Origin, Head: c.Size, Reason: "the checkpoint is not the one that was signed"}
	}
	f.rep.SignedBy = key
	if !f.rep.Partial {
		f.heads = append(f.heads[:len(f.heads):len(f.heads)], c)
	}
	return nil
}

// exported is a line as it is read.
type exported struct {
	body
	Hash  string   `json:"hash"`
	Proof []string `json:"proof,omitempty"`
}

func (f *file) line(line []byte) error {
	bad := func(reason string, err error) error { return &BadEntryError{Seq: f.last + 1, Reason: reason, Err: err} }
	var x exported
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&x); err != nil {
		return bad("its line cannot be read", err)
	}
	raw, err := canonical(x.body)
	if err != nil {
		return bad("its line cannot be read", err)
	}
	s := Stored{Seq: x.Seq, Hash: x.Hash, Body: raw}
	path, err := parsePath(x.Proof)
	if err != nil {
		return bad("its audit path cannot be read", err)
	}
	if !bytes.Equal(ExportLine(s, path), line) {
		return bad("its line is not in the form of an export", nil)
	}
	if f.rep.Partial {
		if err := f.part(s); err != nil {
			return err
		}
	} else if err := f.entry(s); err != nil {
		return err
	}
	f.last = s.Seq
	if path == nil && !f.rep.Partial {
		return nil
	}
	if err := CheckProof(path, f.rep.Size, f.rep.Checkpoint.Root, s.Seq, LeafHash(raw)); err != nil {
		return &BadEntryError{Seq: s.Seq, Reason: "its audit path does not lead to the root", Err: err}
	}
	f.rep.Proven++
	return nil
}

// part takes an entry of a partial export on its own.
func (f *file) part(s Stored) error {
	if s.Seq <= f.last {
		return &BadEntryError{Seq: s.Seq, Reason: fmt.Sprintf("it comes after entry %d", f.last)}
	}
	e, err := Open(s)
	if err != nil {
		return err
	}
	f.walk.rep.Entries++
	switch e.Kind {
	case KindIntent:
		f.walk.rep.Intents++
	case KindOutcome:
		f.walk.rep.Outcomes++
	default: // counted as entries alone
	}
	return nil
}

func parsePath(texts []string) ([]Hash, error) {
	if texts == nil {
		return nil, nil
	}
	path := make([]Hash, 0, len(texts))
	for _, t := range texts {
		h, err := parseHash(t)
		if err != nil {
			return nil, err
		}
		path = append(path, h)
	}
	return path, nil
}

func (f *file) end() (FileReport, error) {
	if f.rep.Partial {
		f.rep.Report = f.walk.rep
		f.rep.Root = f.rep.Checkpoint.RootText()
		return f.rep, nil
	}
	rep, err := f.walk.end()
	f.rep.Report = rep
	switch {
	case err != nil:
		return f.rep, err
	case rep.Entries < f.rep.Size:
		return f.rep, &BadEntryError{Seq: rep.Entries + 1, Reason: fmt.Sprintf("missing: the checkpoint is over %d entries", f.rep.Size)}
	case rep.Entries > f.rep.Size:
		return f.rep, &BadEntryError{Seq: f.rep.Size + 1, Reason: "it comes after the checkpoint"}
	case rep.Root != f.rep.Checkpoint.RootText():
		return f.rep, &HeadError{Origin: f.rep.Origin, Head: f.rep.Size, Entries: rep.Entries, Reason: "the entries are not those of the checkpoint"}
	}
	return f.rep, nil
}
