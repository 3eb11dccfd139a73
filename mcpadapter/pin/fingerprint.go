// Package pin keeps what a person has accepted: fingerprints of how a server
// is started (launch) or where it is reached (endpoint), and in the same file
// later of what it says of itself (server) and what its tools are (tool).
//
// Invariants: nothing is pinned but by a call of Accept; a pin belongs to the
// name of a binding and survives its removal; the file holds digests, names
// and times, never a secret; a file that is not understood to the last key is
// refused, not repaired. It imports neither the MCP SDK nor the harness.
package pin

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/looprig/looprig/mcpadapter/transport/stdio"
)

// Layer says what a fingerprint was taken of.
type Layer string

// The layers of a binding's pins.
const (
	LayerLaunch   Layer = "launch"
	LayerEndpoint Layer = "endpoint"
	LayerServer   Layer = "server"
	LayerTool     Layer = "tool"
)

// Fingerprint is what a person accepts or refuses, with everything that it
// stands for. Strings are raw: callers pass them through safetext before
// showing them, and show Lines whole.
type Fingerprint struct {
	// Digest is "sha256:" and 64 lower-case hexadecimal digits.
	Digest string
	Kind   Layer
	// Lines show the whole command, in the order in which it reads.
	Lines []Line
	// Mutable says in plain words what the fingerprint cannot cover, because
	// what runs is fetched or chosen at start; "" when it covers the program.
	Mutable string
	// Executable is the real path of the program that is started and SHA256
	// its digest in hexadecimal.
	Executable, SHA256 string
	// Origin of an endpoint: scheme, host and port.
	Origin string
	// Warnings are host-written remarks of the resolution.
	Warnings []string
}

// Line is one labelled line of a fingerprint's description.
type Line struct {
	Label string
	Value string
	// private: see Line.Private.
	private bool
}

// launchDomain separates launch fingerprints from every other digest.
const launchDomain = "looprig launch fingerprint v1"

// Launch takes the fingerprint of how a stdio server is started: the real path
// and digest of the executable, every argument, the working directory, the
// names of configured environment variables (never their values), and the
// digest of every argument that is a file of code. The transport resolves its
// command once, so what was fingerprinted is what a later Dial starts.
// Errors: *wire.LaunchError where there is nothing to start, *FileError where
// a file cannot be read.
func Launch(t *stdio.Transport) (Fingerprint, error) {
	found, exe, err := executable(t)
	if errors.Is(err, fs.ErrNotExist) { // moved since it was resolved
		t.Forget()
		found, exe, err = executable(t)
	}
	if err != nil {
		return Fingerprint{}, err
	}
	args := t.Args()
	files, err := codeFiles(found.Dir, args)
	if err != nil {
		return Fingerprint{}, err
	}
	names := t.EnvNames()
	fp := Fingerprint{
		Kind: LayerLaunch, Executable: exe.path, SHA256: exe.sum, Warnings: found.Warnings,
		Mutable: mutable(t.Command(), exe.path, args),
	}
	fp.Digest = launchDigest(found, exe, args, names, files)
	fp.Lines = launchLines(t.Command(), found, exe, args, names, files, fp.Mutable)
	return fp, nil
}

func executable(t *stdio.Transport) (stdio.Resolved, file, error) {
	found, err := t.Resolve()
	if err != nil {
		return found, file{}, err
	}
	exe, err := hashFile("the executable", found.Path)
	return found, exe, err
}

// launchDigest frames every part with its length, so that no two launches
// read the same.
func launchDigest(found stdio.Resolved, exe file, args, names []string, files []argFile) string {
	h := sha256.New()
	frame(h, launchDomain, exe.path, exe.sum, found.Dir)
	frameList(h, args)
	frameList(h, names)
	count(h, len(files))
	for _, f := range files {
		frame(h, strconv.Itoa(f.index), f.path, f.sum)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func frameList(h hash.Hash, list []string) {
	count(h, len(list))
	frame(h, list...)
}

func frame(h hash.Hash, parts ...string) {
	for _, part := range parts {
		count(h, len(part))
		_, _ = h.Write([]byte(part)) // a hash never fails
	}
}

func count(h hash.Hash, n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	_, _ = h.Write(b[:])
}

func launchLines(command string, found stdio.Resolved, exe file, args, names []string, files []argFile, mutable string) []Line {
	lines := []Line{
		{Label: "command", Value: commandLine(command, args)}, {Label: "executable", Value: exe.path}, {Label: "sha256", Value: exe.sum},
	}
	if found.Path != exe.path {
		lines = append(lines, Line{Label: "found as", Value: found.Path})
	}
	for i, arg := range args {
		lines = append(lines, Line{Label: fmt.Sprintf("argument %d", i+1), Value: arg})
	}
	for _, f := range files {
		lines = append(lines, Line{Label: fmt.Sprintf("file of argument %d", f.index+1), Value: f.path}, Line{Label: "sha256", Value: f.sum})
	}
	lines = append(lines, Line{Label: "directory", Value: found.Dir})
	if len(names) > 0 {
		lines = append(lines, Line{Label: "environment", Value: strings.Join(names, " ")})
	}
	if mutable != "" {
		lines = append(lines, Line{Label: "not covered", Value: mutable})
	}
	return lines
}

// commandLine shows a command so that its words can be told apart.
func commandLine(command string, args []string) string {
	words := make([]string, 0, len(args)+1)
	for _, word := range append([]string{command}, args...) {
		if word == "" || strings.ContainsFunc(word, unusual) {
			word = strconv.Quote(word)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func unusual(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("-_./:=@%+,~^", r)
}

// codeFiles finds the arguments that name a file of code: a script for an
// interpreter, a module to load first, another program.
func codeFiles(dir string, args []string) ([]argFile, error) {
	var files []argFile
	for i, arg := range args {
		for _, name := range candidates(arg) {
			path := name
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			if !isCode(path) {
				continue
			}
			if len(files) == maxFiles {
				return nil, &FileError{What: "the arguments", Reason: fmt.Sprintf("name more than %d files of code", maxFiles)}
			}
			found, err := hashFile(fmt.Sprintf("the file of argument %d", i+1), path)
			if err != nil {
				return nil, err
			}
			files = append(files, argFile{index: i, file: found})
			break
		}
	}
	return files, nil
}

// candidates are the readings of an argument as a file name: itself, and the
// value of --name=value.
func candidates(arg string) []string {
	if arg == "" || len(arg) > maxPath {
		return nil
	}
	if _, value, ok := strings.Cut(arg, "="); ok && value != "" {
		return []string{arg, value}
	}
	return []string{arg}
}
