package stdio

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/guardian"
	"github.com/looprig/looprig/mcpadapter/internal/guardian/kin"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// Dial starts a fresh process. Errors: *wire.LaunchError,
// *SHA256MismatchError, or the context's.
func (t *Transport) Dial(ctx context.Context, opt wire.Options) (wire.Conn, error) {
	conn, err := t.dial(ctx, opt)
	if err != nil {
		return nil, err // not a nil *Conn in an interface
	}
	return conn, nil
}

func (t *Transport) dial(ctx context.Context, opt wire.Options) (*Conn, error) {
	found, err := t.Resolve()
	if err != nil {
		return nil, err
	}
	warnings := slices.Clone(found.Warnings)
	keeper, err := guardian.Start()
	if err != nil {
		warnings = append(warnings, "no guardian: this server may survive if looprig is killed")
	}
	if !kin.Supported {
		warnings = append(warnings, "programs that this server starts cannot be found on this platform and may survive it")
	}
	guardian.SealDescriptors()
	pipes, err := openPipes()
	if err != nil {
		return nil, launchError(t.config.Command, "no pipes", err)
	}
	token := guardian.NewToken()
	marker := kin.Marker(os.Getenv(kin.EnvName), guardian.Token(), token)
	start := launch{
		command: t.config.Command, path: found.Path, args: t.config.Args, env: t.env,
		environ: t.env.list(marker), dir: found.Dir, streams: pipes.child[:], sha256: t.config.SHA256,
		afterHash: t.afterHash,
	}
	process, remarks, err := start.start(ctx)
	pipes.closeChild()
	if err != nil {
		pipes.closeParent()
		return nil, err
	}
	leader := kin.Member{PID: process.Pid, Start: kin.StartOf(process.Pid)}
	family := kin.Family{Token: token, Since: leader.Start, Leaders: []kin.Member{leader}, Pipes: pipes.inodes}
	if keeper != nil {
		if keeper.Add(guardian.Ward{Member: leader, Pipes: pipes.inodes}) != nil {
			warnings = append(warnings, "the guardian cannot be reached: this server may survive if looprig is killed")
		}
	}
	conn := newConn(t, opt, process, family, pipes)
	conn.keeper = keeper
	conn.warnings = append(warnings, remarks...)
	conn.run()
	return conn, nil
}

// streams are the three pipes of one child.
type streams struct {
	child  [3]*os.File // stdin, stdout, stderr as the child sees them
	parent [3]*os.File
	inodes []uint64
}

func openPipes() (*streams, error) {
	var s streams
	for i := range s.child {
		read, write, err := os.Pipe()
		if err != nil {
			s.closeChild()
			s.closeParent()
			return nil, err
		}
		if i == 0 {
			s.child[i], s.parent[i] = read, write
		} else {
			s.child[i], s.parent[i] = write, read
		}
		if i == 1 {
			shorten(read)
		}
		if inode := pipeInode(read); inode != 0 {
			s.inodes = append(s.inodes, inode)
		}
	}
	return &s, nil
}

func (s *streams) closeChild()  { closeAll(s.child[:]) }
func (s *streams) closeParent() { closeAll(s.parent[:]) }

func closeAll(files []*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close()
		}
	}
}

// orDefault replaces an unset limit.
func orDefault(n, standard int) int {
	if n <= 0 {
		return standard
	}
	return n
}

func graceOf(opt wire.Options) time.Duration {
	if opt.CloseGrace <= 0 {
		return wire.DefaultCloseGrace
	}
	return opt.CloseGrace
}
