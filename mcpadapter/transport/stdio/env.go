package stdio

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/looprig/looprig/mcpadapter/internal/guardian/kin"
)

// baseline are the variables that every child gets from the host. There is no
// SHELL among them: a server has no use for it.
var baseline = []string{"PATH", "HOME", "TMPDIR", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE"}

// baselineWindows is what no Windows program starts without.
var baselineWindows = []string{"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP",
	"USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "USERNAME"}

// dangerous are the variables that make a program load or run other code. They
// are never inherited, only set by value in the user's own configuration.
var dangerous = []string{
	"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "LD_DEBUG_OUTPUT", "LD_PROFILE", "GCONV_PATH", "LOCPATH", "GLIBC_TUNABLES",
	"NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "DENO_DIR", "BUN_OPTIONS",
	"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONBREAKPOINT",
	"RUBYOPT", "RUBYLIB", "GEM_PATH", "GEM_HOME", "PERL5OPT", "PERL5LIB", "PERLLIB", "PERL5DB", "LUA_INIT", "LUA_PATH", "LUA_CPATH",
	"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "DOTNET_STARTUP_HOOKS", "CORECLR_PROFILER", "PHPRC", "PHP_INI_SCAN_DIR",
	"BASH_ENV", "ENV", "ZDOTDIR", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "IFS", "CDPATH", "GLOBIGNORE",
	"GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXEC_PATH", "GIT_ASKPASS", "GIT_PROXY_COMMAND", "SSH_ASKPASS",
	"OPENSSL_CONF", "OPENSSL_MODULES", "GOFLAGS", "RUSTC_WRAPPER",
}

// dangerousPrefixes cover families of such variables.
var dangerousPrefixes = []string{"DYLD_", "LD_", "BASH_FUNC_", "GIT_CONFIG", "NPM_CONFIG_", "COR_", "CORECLR_"}

// wanted are harmless variables that servers often need and do not get; where
// the host has them, the binding's detail says so.
var wanted = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "AWS_CA_BUNDLE",
	"SSH_AUTH_SOCK", "KUBECONFIG", "DOCKER_HOST", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
	"DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "AWS_PROFILE", "AWS_REGION", "GOOGLE_APPLICATION_CREDENTIALS",
	"AZURE_CONFIG_DIR", "VIRTUAL_ENV", "NVM_DIR", "JAVA_HOME", "GOPATH", "CARGO_HOME", "PNPM_HOME", "TZ",
}

// IsDangerousEnv reports whether a variable makes programs load or run other
// code, so that it is passed to a server only by value, never inherited.
func IsDangerousEnv(name string) bool {
	upper := strings.ToUpper(name)
	return slices.Contains(dangerous, upper) ||
		slices.ContainsFunc(dangerousPrefixes, func(p string) bool { return strings.HasPrefix(upper, p) })
}

// childEnv is the environment of one server before the marker is added.
type childEnv struct {
	values   map[string]string
	warnings []string
	withheld []string
}

// buildEnv makes the child's environment from nothing: the baseline, the named
// inherited variables, then the explicit values, which win.
func buildEnv(host []string, inherit []string, explicit map[string]string) childEnv {
	have := map[string]string{}
	for _, entry := range host {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			have[envKey(name)] = value
		}
	}
	env := childEnv{values: map[string]string{}}
	names := slices.Concat(baseline, inherit)
	if runtime.GOOS == "windows" {
		names = append(names, baselineWindows...)
	}
	for _, name := range names {
		if value, ok := have[envKey(name)]; ok {
			env.values[envKey(name)] = value
		}
	}
	if path, ok := env.values["PATH"]; ok {
		env.values["PATH"] = env.cleanPath(path)
	}
	for name, value := range explicit {
		env.values[envKey(name)] = value
	}
	for name := range have {
		if _, passed := env.values[name]; !passed && (slices.Contains(wanted, name) || IsDangerousEnv(name)) {
			env.withheld = append(env.withheld, name)
		}
	}
	slices.Sort(env.withheld)
	return env
}

// cleanPath drops the elements of an inherited PATH by which a file in the
// working directory could take the place of a program. Their text stays out of
// the warning: it is an environment value.
func (e *childEnv) cleanPath(path string) string {
	kept := make([]string, 0, 16)
	for i, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			e.warnings = append(e.warnings, skippedElement(i, dir))
			continue
		}
		kept = append(kept, dir)
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

func skippedElement(i int, dir string) string {
	what := "is relative"
	if dir == "" {
		what = "is empty"
	}
	return fmt.Sprintf("element %d of PATH %s and was skipped", i+1, what)
}

// list renders the environment for execution, the marker first.
func (e *childEnv) list(marker string) []string {
	names := make([]string, 0, len(e.values))
	for name := range e.values {
		names = append(names, name)
	}
	slices.Sort(names)
	list := make([]string, 0, len(names)+1)
	list = append(list, kin.EnvName+"="+marker)
	for _, name := range names {
		list = append(list, name+"="+e.values[name])
	}
	return list
}

// envKey folds names where the platform does.
func envKey(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}
