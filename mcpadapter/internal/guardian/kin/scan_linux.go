package kin

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Supported reports whether this platform can look for members at all.
const Supported = true

// maxEnviron bounds what is read of one process's environment.
const maxEnviron = 2 << 20

// maxChildren bounds the walk of Children.
const maxChildren = 4096

// process is what /proc says about one process.
type process struct {
	Member
	parent, group, session int
	gone                   bool // a zombie: nothing of it runs any more
}

// Alive looks through the process table once and returns the living members.
func (f *Family) Alive() []Member {
	table := f.candidates()
	in := make(map[int]bool, len(table))
	for pid, p := range table {
		in[pid] = f.isMember(p, table)
	}
	for changed := true; changed; {
		changed = false
		for pid, p := range table {
			if !in[pid] && in[p.parent] {
				in[pid], changed = true, true
			}
		}
	}
	var alive []Member
	for pid, p := range table {
		if in[pid] && !p.gone {
			alive = append(alive, p.Member)
		}
	}
	return alive
}

// candidates lists every process that is young enough to be a member.
func (f *Family) candidates() map[int]process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	self := os.Getpid()
	table := map[int]process{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == self || pid <= 1 {
			continue
		}
		if p, ok := readProcess(pid); ok && p.Start >= f.Since {
			table[pid] = p
		}
	}
	return table
}

func (f *Family) isMember(p process, table map[int]process) bool {
	for _, leader := range f.Leaders {
		if p.Member == leader {
			return true
		}
		// The leader's number may belong to a stranger by now, and so may the
		// session and the group of that number.
		if holder, ok := table[leader.PID]; ok && holder.Start != leader.Start {
			continue
		}
		if p.session == leader.PID || p.group == leader.PID {
			return true
		}
	}
	if contains(f.Known, p.Member) {
		return true
	}
	if p.gone {
		return false
	}
	return f.marked(p.PID) || f.holdsPipe(p)
}

// marked reads the environment that the process was started with.
func (f *Family) marked(pid int) bool {
	if f.Token == "" {
		return false
	}
	env, err := readBounded("/proc/"+strconv.Itoa(pid)+"/environ", maxEnviron)
	if err != nil || !bytes.Contains(env, []byte(f.Token)) {
		return false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(EnvName+"=")); ok && carries(string(value), f.Token) {
			return true
		}
	}
	return false
}

// holdsPipe looks for the family's pipes among the open descriptors. Own
// children are left out: between fork and exec a child of ours still holds
// copies of every descriptor.
func (f *Family) holdsPipe(p process) bool {
	if len(f.Pipes) == 0 || p.parent == os.Getpid() {
		return false
	}
	path := "/proc/" + strconv.Itoa(p.PID) + "/fd"
	dir, err := os.Open(path)
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return false
	}
	for _, name := range names {
		target, err := os.Readlink(path + "/" + name)
		if err != nil {
			continue
		}
		number, ok := strings.CutPrefix(target, "pipe:[")
		if !ok {
			continue
		}
		inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
		if err != nil {
			continue
		}
		for _, own := range f.Pipes {
			if inode == own {
				return true
			}
		}
	}
	return false
}

// StartOf returns the start time of a process, 0 when it is gone.
func StartOf(pid int) uint64 {
	p, _ := readProcess(pid)
	return p.Start
}

// Children returns the living descendants of a process, as far as its threads
// still know them.
func Children(pid int) []Member {
	var found []Member
	queue := []int{pid}
	for len(queue) > 0 && len(found) < maxChildren {
		pid, queue = queue[0], queue[1:]
		base := "/proc/" + strconv.Itoa(pid) + "/task"
		tasks, err := os.ReadDir(base)
		if err != nil {
			continue
		}
		for _, task := range tasks {
			list, err := readBounded(base+"/"+task.Name()+"/children", 1<<16)
			if err != nil {
				continue
			}
			for field := range bytes.FieldsSeq(list) {
				child, err := strconv.Atoi(string(field))
				if err != nil {
					continue
				}
				if p, ok := readProcess(child); ok && !p.gone {
					found = append(found, p.Member)
					queue = append(queue, child)
				}
			}
		}
	}
	return found
}

// readProcess parses /proc/<pid>/stat. The command name in it is the process's
// own text and may hold spaces and parentheses, so fields count from its end.
func readProcess(pid int) (process, bool) {
	var buffer [maxStat]byte
	raw, ok := readOnce("/proc/"+strconv.Itoa(pid)+"/stat", buffer[:])
	if !ok {
		return process{}, false
	}
	return parseStat(pid, raw)
}

// maxStat is more than the one line can be.
const maxStat = 1 << 10

func parseStat(pid int, raw []byte) (process, bool) {
	const parent, group, session, start = 1, 2, 3, 19
	p := process{Member: Member{PID: pid}}
	field := 0
	for part := range bytes.FieldsSeq(raw[bytes.LastIndexByte(raw, ')')+1:]) {
		number, _ := strconv.ParseUint(string(part), 10, 64)
		switch field {
		case 0:
			p.gone = part[0] == 'Z' || part[0] == 'X' || part[0] == 'x'
		case parent:
			p.parent = int(number)
		case group:
			p.group = int(number)
		case session:
			p.session = int(number)
		case start:
			p.Start = number
			return p, true
		}
		field++
	}
	return process{}, false
}

// readOnce reads a small file of /proc without what os does for files that
// may block: there are many of them in one look.
func readOnce(path string, into []byte) ([]byte, bool) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, into)
	if err != nil || n <= 0 {
		return nil, false
	}
	return into[:n], true
}

func readBounded(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, limit))
}

func terminate(m Member) { signal(m, unix.SIGTERM) }
func destroy(m Member)   { signal(m, unix.SIGKILL) }

// signal sends through a pidfd, after the identity has been compared: the
// number cannot pass to a stranger in between.
func signal(m Member, sig unix.Signal) {
	fd, err := unix.PidfdOpen(m.PID, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		if StartOf(m.PID) == m.Start {
			_ = unix.Kill(m.PID, sig)
		}
		return
	}
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if StartOf(m.PID) == m.Start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}
