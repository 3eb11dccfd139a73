package early

import (
	"encoding/binary"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestOnlyLooprigIsAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want bool
	}{
		{[]string{"/usr/bin/looprig", "version"}, true},
		{[]string{"looprig-linux-amd64", "version"}, true},
		{[]string{"looprig", "version", "-h"}, false},
		{[]string{"looprig"}, false},
		{[]string{"looprig", "call"}, false},
		{[]string{"/usr/lib/looprig/cli.test", "version"}, false},
	} {
		if got := Asked(c.args); got != c.want {
			t.Errorf("%q: %t", c.args, got)
		}
	}
}

// record builds what the linker would have written.
func record(settings string) []byte {
	b := append([]byte(recordMagic), 8, textsInline)
	b = append(b, make([]byte, recordTexts-len(b))...)
	for _, s := range []string{"go1.26", settings} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

func TestTheVersionIsFoundInARecord(t *testing.T) {
	t.Parallel()
	const before = "0123456789abcdefpath\tx/cmd\n"
	whole := record(before + "mod\tx\tv1.2.3\th1:abc=\ndep\ty\tv9.9.9\n")
	for _, c := range []struct {
		name   string
		record []byte
		want   string
	}{
		{"a release", whole, "v1.2.3"},
		{"a build from a tree", record(before + "mod\tx\t(devel)\t\n"), "dev"},
		{"no version", record(before + "mod\tx\n"), "dev"},
		{"no main module", record(before + "dep\ty\tv9.9.9\n"), ""},
		{"cut short before the module", whole[:recordTexts+20], ""},
		{"another form", append([]byte(recordMagic+"\x08\x00"), whole[16:]...), ""},
		{"something else", make([]byte, 100), ""},
		{"a length that never ends", append(whole[:recordTexts:recordTexts], 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), ""},
		{"a length of zeros that comes to its sign", append(whole[:recordTexts:recordTexts], "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01rest"...), ""},
		{"nothing", nil, ""},
	} {
		if got := mainVersion(c.record); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(record("mod\tx\tv1.2.3\th1:abc=\n"))
	f.Add([]byte(recordMagic))
	f.Fuzz(func(_ *testing.T, b []byte) {
		mainVersion(b)
		if runtime.GOOS == "linux" {
			probe(b)
		}
	})
}

// The test binary's own record says what debug.ReadBuildInfo says.
func TestTheProgramsOwnRecord(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the file is read on 64-bit Linux only")
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("no build information")
	}
	if got, want := recorded(), Named(info.Main.Version); got != want {
		t.Errorf("recorded %q, want %q (of %s)", got, want, os.Args[0])
	}
}
