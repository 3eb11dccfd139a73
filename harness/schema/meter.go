package schema

import "time"

// The bounds on one validation besides its time. They bound memory: every step
// may leave a report of a failure behind.
const (
	maxSteps    = 200_000
	maxFailures = 20_000
)

// meter bounds one validation, and the time of compiling. The library calls back into it from every
// schema that it applies and from every pattern that it matches; when a bound
// is exceeded, the meter unwinds the library with a panic of type stop.
type meter struct {
	what     string // "validating", "compiling"
	deadline time.Time
	limit    time.Duration
	steps    int
	failures int
	work     int
	// unknownMatches is what a pattern that cannot be compiled answers.
	unknownMatches bool
}

// stop unwinds the library. It never leaves this package.
type stop struct{ err *Error }

func (m *meter) start(what string, limit time.Duration) {
	*m = meter{what: what, limit: limit, deadline: time.Now().Add(limit)}
}

// step counts one schema applied to one value.
func (m *meter) step() {
	if m.steps++; m.steps > maxSteps {
		m.exceed("validation takes too many steps", maxSteps, m.steps, "validateSteps")
	}
	m.inTime()
}

// inTime is called often enough that what happens in between is short.
func (m *meter) inTime() {
	late := time.Since(m.deadline)
	if late <= 0 {
		return
	}
	setting := "validateTime"
	if m.what == "compiling" {
		setting = "schemaCompileTime"
	}
	limit := int(m.limit.Milliseconds())
	m.exceed(m.what+" takes too long (milliseconds)", limit, limit+int(late.Milliseconds())+1, setting)
}

func (m *meter) fail() {
	if m.failures++; m.failures > maxFailures {
		m.exceed("too many values do not fit", maxFailures, m.failures, "validateFailures")
	}
}

// charge counts the work of one match of a pattern, in advance.
func (m *meter) charge(n int) {
	if m.work += n; n < 0 || m.work > maxPatternWork {
		m.exceed("matching patterns takes too much work", maxPatternWork, m.work, "patternWork")
	}
}

func (m *meter) exceed(msg string, limit, size int, setting string) {
	panic(stop{&Error{Code: CodeOverLimit, Message: msg, Limit: int64(limit), Size: int64(size), Setting: setting}})
}
