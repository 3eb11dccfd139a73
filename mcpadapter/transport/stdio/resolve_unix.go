//go:build !windows

package stdio

import (
	"io/fs"
	"os"
)

// executableAt checks that a path is a regular file with an execute bit.
func executableAt(path, _ string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fs.ErrInvalid
	case info.Mode().Perm()&0o111 == 0:
		return "", fs.ErrPermission
	}
	return path, nil
}
