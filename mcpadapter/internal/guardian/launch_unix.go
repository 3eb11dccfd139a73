//go:build unix

package guardian

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// launch executes the own binary as the helper.
func launch() (*helper, error) {
	self, err := executable()
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("guardian pipe: %w", err)
	}
	defer read.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		_ = write.Close()
		return nil, fmt.Errorf("guardian streams: %w", err)
	}
	defer null.Close()
	SealDescriptors()
	process, err := os.StartProcess(self, []string{"looprig", Arg}, &os.ProcAttr{
		Dir: "/",
		// No marker: the sweep that ends servers must not find the helper.
		Env:   []string{"GOMAXPROCS=1"},
		Files: []*os.File{read, null, null},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_ = write.Close()
		return nil, fmt.Errorf("guardian start: %w", err)
	}
	return &helper{process: process, pipe: write}, nil
}

// executable names the running binary itself: on Linux the very file that is
// running, even when an update has replaced it.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		if _, err := os.Stat("/proc/self/exe"); err == nil {
			return "/proc/self/exe", nil
		}
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("guardian: %w", err)
	}
	return path, nil
}

// ignoreSignals keeps the helper alive through what ends looprig.
func ignoreSignals() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
}

// endGroups is the way of platforms without a process table in /proc.
func endGroups(wards map[int]Ward) {
	for pid := range wards {
		_ = syscall.Kill(-pid, syscall.SIGTERM)
	}
	if len(wards) > 0 {
		time.Sleep(termGrace)
	}
	for pid := range wards {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}
