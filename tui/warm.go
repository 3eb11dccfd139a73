package tui

import (
	"sync"

	"github.com/charmbracelet/x/ansi"
)

// Warm begins what the first frame needs and nothing else decides: the library's
// table of character widths has two million entries and is made when the first
// character beyond Latin is drawn. Beside the opening of a store, which waits for
// the disk, that costs no time. The returned function waits for the end of it.
func Warm() (wait func()) {
	var wg sync.WaitGroup
	wg.Go(func() { ansi.StringWidthWc(beyondLatin) })
	return wg.Wait
}

// beyondLatin is a character whose width is not known without the table.
const beyondLatin = "─"
