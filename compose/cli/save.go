package cli

import (
	"errors"
	"os"

	"github.com/looprig/looprig/compose/exit"
)

// saveFile is the target of --save, or of another flag that names a file. It is opened before the tool runs, so that a
// path that cannot be written costs no call; what it held is kept until there is
// something to put in its place. A nil saveFile saves nothing.
type saveFile struct {
	f          *os.File
	flag, path string
	// made says that the file did not exist, so that a run without a result
	// leaves none.
	made, wrote bool
}

func openSave(flag, path string) (*saveFile, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // no path is not an error
	}
	s := &saveFile{flag: flag, path: path}
	_, err := os.Lstat(path)
	s.made = errors.Is(err, os.ErrNotExist)
	if s.f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
		return nil, exit.New(exit.Usage, "%s: %w", flag, err)
	}
	return s, nil
}

func (s *saveFile) write(out []byte) error {
	st, err := s.f.Stat()
	if err == nil && st.Mode().IsRegular() {
		err = s.f.Truncate(0)
	}
	if err == nil {
		_, err = s.f.Write(out)
	}
	if err != nil {
		return exit.New(exit.Usage, "%s: %w", s.flag, err)
	}
	s.wrote = true
	return nil
}

func (s *saveFile) close() error {
	if s == nil {
		return nil
	}
	err := s.f.Close()
	if s.made && !s.wrote {
		err = errors.Join(err, os.Remove(s.path))
	}
	if err != nil {
		return exit.New(exit.Internal, "%s: %w", s.flag, err)
	}
	return nil
}
