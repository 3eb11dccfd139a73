//go:build !unix

package guardian

import (
	"errors"
	"fmt"
	"runtime"
)

// launch is not possible: there are no process groups to look after.
func launch() (*helper, error) {
	return nil, fmt.Errorf("guardian on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func ignoreSignals() {}

func endGroups(map[int]Ward) {}
