package pin

import (
	"path/filepath"
	"strings"
)

// What the person reads about a launch whose program is not in the fingerprint.
const (
	fetches = "it fetches a package and runs it: the code can change without the command changing, unless an exact version is named and its source can be trusted"
	unknown = "a runner chooses the code at start; the fingerprint covers the runner and its arguments only"
	image   = "it runs a container image by tag: the image behind the tag can change"
	digest  = "it runs a container image by digest: the image is fixed by that digest, not by this fingerprint"
	shell   = "it runs a command line in a shell: the programs named in it are not in the fingerprint"
	module  = "it runs an installed module: the module's files are not in the fingerprint"
	remote  = "it loads code from the network at start"
)

// runner explains one way of starting code that is not a file of the command.
type runner struct {
	names []string
	// verbs are the first plain arguments that make it one; empty means any.
	verbs []string
	why   string
}

var runners = []runner{
	{names: []string{"npx", "bunx", "pnpx", "uvx", "dnx"}, why: fetches},
	{names: []string{"npm"}, verbs: []string{"exec", "x", "run", "start", "init", "create"}, why: fetches},
	{names: []string{"pnpm", "yarn"}, verbs: []string{"dlx", "exec", "run", "start", "create"}, why: fetches},
	{names: []string{"bun"}, verbs: []string{"x", "run"}, why: fetches},
	{names: []string{"uv"}, verbs: []string{"run", "tool", "x"}, why: fetches},
	{names: []string{"pipx"}, verbs: []string{"run"}, why: fetches},
	{names: []string{"go"}, verbs: []string{"run", "tool"}, why: unknown},
	{names: []string{"cargo"}, verbs: []string{"run"}, why: unknown},
	{names: []string{"dotnet"}, verbs: []string{"run", "tool"}, why: unknown},
	{names: []string{"nix", "nix-shell", "mise", "asdf", "volta", "poetry", "pdm", "hatch", "conda", "mamba", "rye", "make", "just", "task"}, why: unknown},
	{names: []string{"ssh"}, why: "it runs a command on another machine, which the fingerprint cannot see"},
}

var (
	containers   = []string{"docker", "podman", "nerdctl"}
	shells       = []string{"sh", "bash", "zsh", "dash", "ash", "ksh", "fish", "cmd", "powershell", "pwsh"}
	interpreters = []string{"node", "python", "ruby", "perl", "deno", "php", "java"}
)

// mutable explains what the fingerprint of a command does not cover, or
// returns "". Both names of the program count: the configured one and the real
// one behind symbolic links, whichever is a known runner.
func mutable(command, real string, args []string) string {
	for _, name := range []string{programName(command), programName(real)} {
		if why := explain(name, args); why != "" {
			return why
		}
	}
	return ""
}

func explain(name string, args []string) string {
	verb, rest := firstPlain(args)
	switch {
	case name == "env":
		return behindEnv(args)
	case is(name, containers):
		return containerRemark(verb, rest)
	case is(name, shells):
		return shellRemark(args)
	case is(name, interpreters):
		return interpreterRemark(args)
	}
	for _, r := range runners {
		if is(name, r.names) && (len(r.verbs) == 0 || is(verb, r.verbs)) {
			return r.why
		}
	}
	return ""
}

// behindEnv looks at the command that env starts.
func behindEnv(args []string) string {
	for i, arg := range args {
		if strings.HasPrefix(arg, "-") || strings.Contains(arg, "=") {
			continue
		}
		if why := explain(programName(arg), args[i+1:]); why != "" {
			return why
		}
		return unknown
	}
	return unknown
}

func containerRemark(verb string, rest []string) string {
	if !is(verb, []string{"run", "exec", "compose", "start", "container"}) {
		return ""
	}
	for _, arg := range rest {
		if strings.Contains(arg, "@sha256:") {
			return digest
		}
	}
	return image
}

func shellRemark(args []string) string {
	for _, arg := range args {
		switch strings.ToLower(arg) {
		case "-c", "/c", "/k", "-command", "-lc", "-ic", "-ec", "-encodedcommand":
			return shell
		}
	}
	return ""
}

func interpreterRemark(args []string) string {
	for _, arg := range args {
		switch {
		case arg == "-m":
			return module
		case arg == "-e", arg == "-c", arg == "--eval", arg == "-p", arg == "--print":
			return "" // the code is in the arguments, which are covered
		case strings.Contains(arg, "://"), strings.HasPrefix(arg, "npm:"), strings.HasPrefix(arg, "jsr:"):
			return remote
		}
	}
	return ""
}

// firstPlain returns the first argument that is no option, and what follows.
func firstPlain(args []string) (first string, rest []string) {
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			return arg, args[i+1:]
		}
	}
	return "", nil
}

// programName is the base name without Windows extensions and without the
// version that interpreters carry (python3.12).
func programName(command string) string {
	name := strings.ToLower(filepath.Base(strings.ReplaceAll(command, `\`, "/")))
	for _, ext := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, ext)
	}
	for _, suffix := range []string{"-cli.js", ".js"} {
		name = strings.TrimSuffix(name, suffix) // npx is a link to npx-cli.js
	}
	return strings.TrimRight(name, "0123456789.")
}

func is(name string, list []string) bool {
	for _, entry := range list {
		if name == entry {
			return true
		}
	}
	return false
}
