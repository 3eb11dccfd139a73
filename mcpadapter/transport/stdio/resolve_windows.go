package stdio

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// defaultPathExt is used where the child has no PATHEXT.
const defaultPathExt = ".COM;.EXE;.BAT;.CMD"

// executableAt finds the file that Windows would run for a path: itself when
// it has an extension, else the first of PATHEXT that exists.
func executableAt(path, pathExt string) (string, error) {
	if filepath.Ext(path) != "" {
		if err := regular(path); err == nil {
			return path, nil
		}
	}
	if pathExt == "" {
		pathExt = defaultPathExt
	}
	for ext := range strings.SplitSeq(pathExt, ";") {
		if ext == "" {
			continue
		}
		if regular(path+ext) == nil {
			return path + ext, nil
		}
	}
	return "", fs.ErrNotExist
}

func regular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fs.ErrInvalid
	}
	return nil
}
