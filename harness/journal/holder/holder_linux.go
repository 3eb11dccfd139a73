package holder

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// The places of the fields that follow a process's name, which may hold spaces
// and parentheses itself, in its line of numbers.
const (
	fieldState = 0
	fieldStart = 19
)

// realm is the boot of the machine and the namespace of process numbers.
func realm() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // "" when not told: then all boots are one
	space, _ := os.Readlink("/proc/self/ns/pid")
	id, _, _ := strings.Cut(strings.TrimSpace(string(boot)), "-")
	return id + "." + strings.Trim(strings.TrimPrefix(space, "pid"), ":[]")
}

// startOf tells when a process began; ok is false when there is none, or only
// what is left of one that ended.
func startOf(pid int) (start string, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	_, rest, ok := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(" "))
	fields := bytes.Fields(rest)
	if !ok || len(fields) <= fieldStart {
		return "", false
	}
	switch fields[fieldState][0] {
	case 'Z', 'X', 'x':
		return "", false
	}
	return string(fields[fieldStart]), true
}
