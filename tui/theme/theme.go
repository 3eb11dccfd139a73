// Package theme holds every style of the interface as one struct of tokens, and
// the symbols and words by which states are shown. A state is never shown by
// colour alone. It must not import any screen.
package theme

import (
	"fmt"
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
)

// The names of the themes.
const (
	Auto         = "auto"
	Light        = "light"
	Dark         = "dark"
	Mono         = "mono"
	HighContrast = "high-contrast"
)

// Names lists the themes.
func Names() []string { return []string{Auto, Light, Dark, Mono, HighContrast} }

// Theme is the tokens.
type Theme struct {
	Name string
	// IsDark says what background the colours are made for.
	IsDark bool

	Text, Muted, Accent     lipgloss.Style
	Good, Warn, Bad, Busy   lipgloss.Style
	Bold, Heading, Code     lipgloss.Style
	Emphasis, Link, Quote   lipgloss.Style
	Rule, Gutter, Selected  lipgloss.Style
	User, Assistant, Server lipgloss.Style
	Key, Toast              lipgloss.Style
}

// UnknownError says that there is no theme of that name.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown theme %q: there are %s", e.Name, strings.Join(Names(), ", "))
}

// Choose finds a theme. For "auto" and "" the background decides.
func Choose(name string, darkBackground, noColor bool) (*Theme, error) {
	if name == "" {
		name = Auto
	}
	if noColor {
		if err := known(name); err != nil {
			return nil, err
		}
		return mono(Mono), nil
	}
	switch name {
	case Auto:
		if darkBackground {
			return colored(Auto, true, darkColors), nil
		}
		return colored(Auto, false, lightColors), nil
	case Light:
		return colored(Light, false, lightColors), nil
	case Dark:
		return colored(Dark, true, darkColors), nil
	case Mono:
		return mono(Mono), nil
	case HighContrast:
		return colored(HighContrast, darkBackground, contrastColors(darkBackground)), nil
	}
	return nil, known(name)
}

func known(name string) error {
	for _, n := range Names() {
		if n == name {
			return nil
		}
	}
	return &UnknownError{Name: name}
}

// palette is what differs between the coloured themes.
type palette struct {
	text, muted, accent    color.Color
	good, warn, bad, busy  color.Color
	code, rule             color.Color
	selectedBG, selectedFG color.Color
}

var darkColors = palette{
	text: nil, muted: lipgloss.Color("#8b93a1"), accent: lipgloss.Color("#7cc4ff"),
	good: lipgloss.Color("#7ad39a"), warn: lipgloss.Color("#f2c35c"), bad: lipgloss.Color("#ff8080"), busy: lipgloss.Color("#c3a6ff"),
	code: lipgloss.Color("#e6b68a"), rule: lipgloss.Color("#4b5263"),
	selectedBG: lipgloss.Color("#2d3b55"), selectedFG: lipgloss.Color("#f2f5fa"),
}

var lightColors = palette{
	text: nil, muted: lipgloss.Color("#5c6370"), accent: lipgloss.Color("#005a9e"),
	good: lipgloss.Color("#1a7f37"), warn: lipgloss.Color("#8a5a00"), bad: lipgloss.Color("#b3261e"), busy: lipgloss.Color("#6f3fb5"),
	code: lipgloss.Color("#8b4513"), rule: lipgloss.Color("#b8bec9"),
	selectedBG: lipgloss.Color("#d5e4f7"), selectedFG: lipgloss.Color("#10151c"),
}

func contrastColors(dark bool) palette {
	fg, bg := lipgloss.Color("#ffffff"), lipgloss.Color("#000000")
	p := palette{
		accent: lipgloss.Color("#00ffff"), good: lipgloss.Color("#00ff00"), warn: lipgloss.Color("#ffff00"),
		bad: lipgloss.Color("#ff6060"), busy: lipgloss.Color("#ff80ff"), code: lipgloss.Color("#ffd700"),
	}
	if !dark {
		fg, bg = bg, fg
		p = palette{
			accent: lipgloss.Color("#0000c0"), good: lipgloss.Color("#005000"), warn: lipgloss.Color("#5a3c00"),
			bad: lipgloss.Color("#a00000"), busy: lipgloss.Color("#500080"), code: lipgloss.Color("#5a2d00"),
		}
	}
	p.text, p.muted, p.rule = fg, fg, fg
	p.selectedBG, p.selectedFG = fg, bg
	return p
}

func colored(name string, dark bool, p palette) *Theme {
	fg := func(c color.Color) lipgloss.Style {
		if c == nil {
			return lipgloss.NewStyle()
		}
		return lipgloss.NewStyle().Foreground(c)
	}
	return &Theme{
		Name: name, IsDark: dark,
		Text: fg(p.text), Muted: fg(p.muted), Accent: fg(p.accent),
		Good: fg(p.good), Warn: fg(p.warn), Bad: fg(p.bad), Busy: fg(p.busy),
		Bold: fg(p.text).Bold(true), Heading: fg(p.accent).Bold(true), Code: fg(p.code),
		Emphasis: fg(p.text).Italic(true), Link: fg(p.accent).Underline(true), Quote: fg(p.muted),
		Rule: fg(p.rule), Gutter: fg(p.warn),
		Selected: lipgloss.NewStyle().Foreground(p.selectedFG).Background(p.selectedBG),
		User:     fg(p.accent).Bold(true), Assistant: fg(p.good).Bold(true), Server: fg(p.warn).Bold(true),
		Key: fg(p.accent), Toast: fg(p.warn).Bold(true),
	}
}

// mono uses bold, reverse and underline alone.
func mono(name string) *Theme {
	plain := lipgloss.NewStyle()
	bold := plain.Bold(true)
	return &Theme{
		Name: name, IsDark: true,
		Text: plain, Muted: plain, Accent: bold,
		Good: plain, Warn: bold, Bad: bold, Busy: plain,
		Bold: bold, Heading: bold.Underline(true), Code: plain,
		Emphasis: plain.Italic(true), Link: plain.Underline(true), Quote: plain,
		Rule: plain, Gutter: plain, Selected: plain.Reverse(true),
		User: bold, Assistant: bold, Server: bold,
		Key: bold, Toast: bold,
	}
}
