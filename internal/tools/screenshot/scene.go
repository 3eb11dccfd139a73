package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// scene is a parsed scene file. Each line is a word and the rest of the line; empty
// lines and lines that start with # are comments.
//
//	size COLUMNS ROWS   of the terminal; 100 30 if missing
//	args ARG…           arguments of the program
//	wait TEXT           until the screen shows the text
//	settle              until the screen has not changed for a moment
//	type TEXT           as if typed
//	key NAME…           keys by name: enter esc tab … ctrl+x, or a single character
//	shot NAME           write NAME.svg
type scene struct {
	width, height int
	args          []string
	steps         []step
}

type step struct {
	line int
	verb string
	text string // for keys: the bytes to send
}

// Limits of a terminal that is still worth drawing.
const (
	minColumns, maxColumns = 20, 300
	minRows, maxRows       = 5, 100
)

// keys are the bytes that a terminal sends for named keys.
var keys = map[string]string{
	"enter": "\r", "esc": "\x1b", "tab": "\t", "shift+tab": "\x1b[Z", "space": " ", "backspace": "\x7f",
	"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
	"pgup": "\x1b[5~", "pgdown": "\x1b[6~", "delete": "\x1b[3~", "f1": "\x1bOP", "f2": "\x1bOQ",
	"f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~", "f6": "\x1b[17~", "f7": "\x1b[18~", "f8": "\x1b[19~",
}

func parseScene(text string) (scene, error) {
	s := scene{width: 100, height: 30}
	shots := 0
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		if err := s.add(i+1, verb, rest); err != nil {
			return scene{}, fmt.Errorf("line %d: %w", i+1, err)
		}
		if verb == "shot" {
			shots++
		}
	}
	if shots == 0 {
		return scene{}, errors.New("the scene has no shot")
	}
	return s, nil
}

func (s *scene) add(line int, verb, rest string) error {
	switch verb {
	case "size":
		var err error
		s.width, s.height, err = parseSize(rest)
		return err
	case "args":
		s.args = strings.Fields(rest)
		return nil
	case "key":
		sent, err := keyBytes(rest)
		rest = sent
		if err != nil {
			return err
		}
	case "shot":
		if rest == "" || strings.ContainsAny(rest, `/\. `) {
			return fmt.Errorf("%q is no name for a picture", rest)
		}
	case "wait", "type":
		if rest == "" {
			return errors.New(verb + " needs a text")
		}
	case "settle":
	default:
		return fmt.Errorf("unknown word %q", verb)
	}
	s.steps = append(s.steps, step{line, verb, rest})
	return nil
}

func parseSize(text string) (width, height int, err error) {
	f := strings.Fields(text)
	if len(f) != 2 {
		return 0, 0, errors.New("size needs columns and rows")
	}
	width, errW := strconv.Atoi(f[0])
	height, errH := strconv.Atoi(f[1])
	if err := errors.Join(errW, errH); err != nil {
		return 0, 0, err
	}
	if width < minColumns || width > maxColumns || height < minRows || height > maxRows {
		return 0, 0, fmt.Errorf("size %dx%d is out of range", width, height)
	}
	return width, height, nil
}

func keyBytes(names string) (string, error) {
	var sent strings.Builder
	for name := range strings.FieldsSeq(names) {
		letter, isCtrl := strings.CutPrefix(name, "ctrl+")
		switch {
		case keys[name] != "":
			sent.WriteString(keys[name])
		case isCtrl && len(letter) == 1 && letter[0] >= 'a' && letter[0] <= 'z':
			sent.WriteByte(letter[0] - 'a' + 1)
		case len([]rune(name)) == 1:
			sent.WriteString(name)
		default:
			return "", fmt.Errorf("unknown key %q", name)
		}
	}
	if sent.Len() == 0 {
		return "", errors.New("key needs a name")
	}
	return sent.String(), nil
}
