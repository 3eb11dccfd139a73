package archtest

// The dependency table. A package belongs to the most specific tree that is listed.
// What the tables do not name is refused: a new edge or module is a decision, made
// here and (for a module) in an ADR.

const sdkModule = "github.com/modelcontextprotocol/go-sdk"

// sdkTrees are the places that may name the MCP SDK.
var sdkTrees = []string{
	"mcpadapter/internal/protocol",
	"mcpadapter/transport",
	"mcpadapter/demo",
	"mcpadapter/internal/fixture",
}

// inside lists, for each package tree, the trees of this module that it may import.
// A tree may always import itself. Test files follow the same rows.
var inside = map[string][]string{
	"harness": {"internal/safetext"},
	// The adapter is independent of storage: never session, journal or ledger.
	"mcpadapter": {
		"harness/content", "harness/tool", "harness/form", "harness/gate", "harness/event",
		"harness/model", "harness/integration", "harness/schema", "internal/safetext",
	},
	"tui": {"harness", "internal/safetext"},
	"compose": {
		"harness", "mcpadapter", "tui", "internal",
	},
	"cmd/looprig":       {"compose", "internal"},
	"cmd":               {"internal"},
	"examples":          {"compose", "harness", "mcpadapter", "tui"},
	"internal/safetext": {},
	"internal/archtest": {},
	"internal/external": {"compose", "internal"},
	// The conformance client uses the adapter as a stranger would.
	"internal/conformance": {"mcpadapter", "harness"},
	"internal":             {},
}

// insideTests lists what test files may import besides.
var insideTests = []string{"internal/ptytest", "internal/safetext", "internal/refpage"}

// outside lists, for each third-party module path (or a part of one), the trees that
// may import it. The longest path that matches decides.
var outside = map[string][]string{
	sdkModule: sdkTrees,

	"github.com/santhosh-tekuri/jsonschema/v6": {"harness/schema"},
	"github.com/itchyny/gojq":                  {"harness/policy", "compose/headless"},
	"modernc.org/sqlite":                       {"harness/journal/sqlite"},
	"golang.org/x/mod/sumdb":                   {"harness/ledger"},
	"github.com/oklog/ulid/v2":                 {"harness", "compose"},
	"golang.org/x/net/idna":                    {"harness", "mcpadapter"},
	"github.com/go-json-experiment/json":       {"harness", "mcpadapter", "compose", "cmd/looprig", "tui"},
	"github.com/goccy/go-yaml":                 {"compose", "mcpadapter/internal/fixture"},
	"golang.org/x/sys":                         {"harness", "mcpadapter", "compose", "cmd/looprig", "internal", "tui"},
	"golang.org/x/text":                        {"harness/schema"},

	"charm.land/bubbletea/v2":                   {"tui"},
	"charm.land/bubbles/v2":                     {"tui"},
	"charm.land/huh/v2":                         {"tui"},
	"charm.land/lipgloss/v2":                    {"tui"},
	"github.com/charmbracelet/x/ansi":           {"tui", "internal/ptytest", "cmd/looprig"},
	"github.com/charmbracelet/x/term":           {"tui", "compose", "cmd/looprig", "internal/ptytest"},
	"github.com/charmbracelet/colorprofile":     {"tui", "compose", "cmd/looprig"},
	"github.com/rivo/uniseg":                    {"tui"},
	"github.com/yuin/goldmark":                  {"tui"},
	"github.com/anthropics/anthropic-sdk-go/v2": {"compose/provider"},
	"github.com/godbus/dbus/v5":                 {"compose/keyring"},
	"github.com/danieljoos/wincred":             {"compose/keyring"},
	"github.com/spf13/cobra":                    {"cmd/looprig"},
	"github.com/spf13/pflag":                    {"cmd/looprig"}, // cobra's flags
	"charm.land/fang/v2":                        {"cmd/looprig"},
	"golang.org/x/tools":                        {"internal/archtest"},
	"golang.org/x/mod":                          {"internal/archtest"},
	"github.com/charmbracelet/x/vt":             {"internal"},
	"github.com/charmbracelet/x/xpty":           {"internal"},
	"github.com/charmbracelet/ultraviolet":      {"internal"},
	"github.com/creack/pty":                     {"internal"},
	"github.com/rogpeppe/go-internal":           {"internal"},
}

// outsideTests lists the third-party modules that every test file may import.
var outsideTests = []string{
	"pgregory.net/rapid",
	"go.uber.org/goleak",
	"github.com/rogpeppe/go-internal",
	"github.com/charmbracelet/x/vt",
	"github.com/charmbracelet/x/xpty",
	"github.com/charmbracelet/x/ansi",
}
