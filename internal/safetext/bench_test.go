package safetext

import (
	"strings"
	"testing"
)

func BenchmarkToBlock(b *testing.B) {
	for name, unit := range map[string]string{
		"ascii":   "The quick brown fox jumps over the lazy dog.\n",
		"accents": "Ein größerer Wörtersee überschwemmte gestern Köln.\n",
		"hostile": "\x1b[2J\u202e\x9ba\u0301\u0301\u0301\u0301\u0301\u0301👩‍👧\n",
	} {
		text := strings.Repeat(unit, (64<<10)/len(unit))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				ToBlock(text)
			}
		})
	}
}

func BenchmarkIdent(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Ident("mcp__demo__ask-name")
	}
}
