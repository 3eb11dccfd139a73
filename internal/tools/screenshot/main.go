// Command screenshot draws pictures of the real interface: it runs a binary in a
// pseudo-terminal with a temporary home, plays a scene (keys, and texts to wait for),
// and writes what a terminal would show as SVG.
//
//	screenshot -binary PATH [-scenes DIR] [-out DIR] [NAME…]
//
// A scene is a text file NAME.scene; scene.go lists its words. Nothing is drawn unless
// the whole scene plays: a text that does not appear in time is an error.
//
// The command imports the terminal emulator and pseudo-terminal of the tests, and no
// package of this module.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	binary := flag.String("binary", "", "the program to run")
	scenes := flag.String("scenes", "internal/tools/screenshot/scenes", "directory of scenes")
	out := flag.String("out", "docs/screenshots", "directory for pictures")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *binary, *scenes, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "screenshot:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, binary, scenes, out string, only []string) error {
	if binary == "" {
		return errors.New("-binary is missing")
	}
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(scenes, "*.scene"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no scenes in %s", scenes)
	}
	if err := os.MkdirAll(out, 0o750); err != nil {
		return err
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".scene")
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		if err := play(ctx, binary, file, out); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// play runs one scene and writes its pictures.
func play(ctx context.Context, binary, file, out string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	scene, err := parseScene(string(text))
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "looprig-scene-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	term, err := start(ctx, binary, home, scene)
	if err != nil {
		return err
	}
	pictures, err := perform(ctx, term, scene)
	if err := errors.Join(err, term.close()); err != nil {
		return err
	}
	for _, p := range pictures {
		path := filepath.Join(out, p.name+".svg")
		if err := os.WriteFile(path, []byte(drawSVG(p.screen)), 0o600); err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}

// picture is one screen that a scene asked for.
type picture struct {
	name   string
	screen screen
}

func perform(ctx context.Context, term *terminal, s scene) ([]picture, error) {
	var pictures []picture
	for _, st := range s.steps {
		var err error
		switch st.verb {
		case "wait":
			err = term.wait(ctx, st.text)
		case "settle":
			err = term.settle(ctx)
		case "type", "key":
			err = term.send(st.text)
		case "shot":
			pictures = append(pictures, picture{st.text, term.snapshot()})
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", st.line, err)
		}
	}
	return pictures, nil
}
