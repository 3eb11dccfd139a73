package guardian

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/looprig/looprig/mcpadapter/internal/guardian/kin"
)

// maxMessage bounds one line from looprig and maxWards the servers that are
// remembered.
const (
	maxMessage = 4 << 10
	maxWards   = 10_000
)

// charge is what the helper has been told.
type charge struct {
	token string
	since uint64
	wards map[int]Ward
	bye   bool
}

// watch is the helper's life: listen until the pipe ends, then clean up.
func watch(pipe io.Reader) int {
	ignoreSignals()
	c := charge{wards: map[int]Ward{}}
	c.listen(pipe)
	if c.bye || c.token == "" {
		return 0
	}
	return c.finish()
}

func (c *charge) listen(pipe io.Reader) {
	lines := bufio.NewScanner(pipe)
	lines.Buffer(make([]byte, 0, maxMessage), maxMessage)
	for lines.Scan() {
		c.hear(lines.Text())
	}
}

// hear takes one message; what it does not understand it skips, because the
// other side may already be dying in the middle of a line.
func (c *charge) hear(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "hello":
		token, since := "", uint64(0)
		if n, err := fmt.Sscanf(rest, "%s %d", &token, &since); n == 2 && err == nil {
			c.token, c.since = token, since
		}
	case "add":
		if w, ok := parseWard(rest); ok && len(c.wards) < maxWards {
			c.wards[w.PID] = w
		}
	case "remove":
		if pid, err := strconv.Atoi(rest); err == nil {
			delete(c.wards, pid)
		}
	case "bye":
		c.bye = true
	}
}

func parseWard(text string) (Ward, bool) {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return Ward{}, false
	}
	pid, err := strconv.Atoi(fields[0])
	if err != nil || pid <= 1 {
		return Ward{}, false
	}
	start, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return Ward{}, false
	}
	w := Ward{Member: kin.Member{PID: pid, Start: start}}
	if len(fields) > 2 {
		for part := range strings.SplitSeq(fields[2], ",") {
			if inode, err := strconv.ParseUint(part, 10, 64); err == nil {
				w.Pipes = append(w.Pipes, inode)
			}
		}
	}
	return w, true
}

// finish ends everything that looprig started and reports survivors as exit
// code 1.
func (c *charge) finish() int {
	family := kin.Family{Token: c.token, Since: c.since}
	for _, w := range c.wards {
		family.Leaders = append(family.Leaders, w.Member)
		family.Pipes = append(family.Pipes, w.Pipes...)
	}
	if !kin.Supported {
		endGroups(c.wards)
		return 0
	}
	if family.End(kin.Bounds{Leave: leaveGrace, Grace: termGrace, Kill: killPhase}) > 0 {
		return 1
	}
	return 0
}
