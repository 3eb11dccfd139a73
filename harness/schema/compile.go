package schema

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// rootURL is what the library knows the schema by. Nothing is ever fetched.
const rootURL = "looprig://schema/root"

// Compile checks raw against lim and compiles it. Without $schema it is taken
// for draft 2020-12. Every failure is an *Error.
func Compile(raw []byte, lim Limits) (*Schema, error) {
	lim = lim.withDefaults()
	if len(raw) > lim.Bytes {
		return nil, &Error{
			Code: CodeOverLimit, Message: "schema too large",
			Limit: int64(lim.Bytes), Size: int64(len(raw)), Setting: "schemaBytes",
		}
	}
	doc, err := decode(raw, lim.JSONDepth)
	if err != nil {
		return nil, err
	}
	switch doc.(type) {
	case map[string]any, bool:
	default:
		return nil, &Error{Code: CodeInvalid, Message: "a schema must be an object or a boolean"}
	}
	s := &Schema{raw: slices.Clone(raw), lim: lim, met: &meter{}}
	if err := s.compile(doc); err != nil {
		return nil, err
	}
	return s, nil
}

// compile fills s from a decoded document, which it changes.
func (s *Schema) compile(doc any) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			err = r.err
		default:
			err = &Error{Code: CodeInternal, Message: "the schema library failed on this schema"}
		}
	}()
	s.met.start("compiling", s.lim.CompileTime)
	patterns := newPatternSet(s.met)
	sc := &scan{lim: s.lim, patterns: patterns, unusual: map[string]struct{}{}}
	if err := sc.walk(doc, "", atSchema); err != nil {
		return err
	}
	roots, err := compileAll(doc, patterns, sc.anchors)
	if err != nil {
		return err
	}
	g, err := newGraph(roots, s.lim)
	if err != nil {
		return err
	}
	if err := g.check(s.lim); err != nil {
		return err
	}
	for _, n := range g.nodes {
		install(n, s.met)
	}
	s.root = roots[0]
	s.unchecked = sc.unchecked
	slices.Sort(s.unchecked)
	return nil
}

// compileAll returns the compiled document, then the schemas at the anchors.
func compileAll(doc any, patterns *patternSet, anchors []string) ([]*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(patterns.engine)
	if err := c.AddResource(rootURL, doc); err != nil {
		return nil, libraryError(err, doc)
	}
	root, err := c.Compile(rootURL)
	if err != nil {
		return nil, libraryError(err, doc)
	}
	roots := []*jsonschema.Schema{root}
	for _, ptr := range anchors {
		// Already compiled if it is a schema; otherwise nothing refers to it.
		if s, err := c.Compile(rootURL + "#" + (&url.URL{Fragment: ptr}).EscapedFragment()); err == nil {
			roots = append(roots, s)
		}
	}
	return roots, nil
}

// noLoader refuses to load anything: a schema is one document.
type noLoader struct{}

var _ jsonschema.URLLoader = noLoader{}

func (noLoader) Load(string) (any, error) {
	return nil, &Error{Code: CodeExternal, Message: "reference that leaves the schema"}
}

// libraryError turns the library's errors into ours.
func libraryError(err error, doc any) error {
	var (
		load    *jsonschema.LoadURLError
		invalid *jsonschema.SchemaValidationError
		pointer *jsonschema.JSONPointerNotFoundError
		bad     *jsonschema.InvalidJsonPointerError
		anchor  *jsonschema.AnchorNotFoundError
		draft   *jsonschema.UnsupportedDraftError
	)
	switch {
	case errors.As(err, &load):
		if isDialect(doc, load.URL) {
			return &Error{Code: CodeDialect, Message: "unknown $schema " + quoted(load.URL)}
		}
		return &Error{Code: CodeExternal, Message: "reference that leaves the schema: " + quoted(load.URL)}
	case errors.As(err, &draft):
		return &Error{Code: CodeDialect, Message: "unknown $schema " + quoted(draft.URL)}
	case errors.As(err, &pointer):
		return &Error{Code: CodeUnresolved, Message: "reference to nothing: " + quoted(localRef(pointer.URL))}
	case errors.As(err, &bad):
		return &Error{Code: CodeUnresolved, Message: "reference to nothing: " + quoted(localRef(bad.URL))}
	case errors.As(err, &anchor):
		return &Error{Code: CodeUnresolved, Message: "reference to nothing: " + quoted(localRef(anchor.Reference))}
	case errors.As(err, &invalid):
		return invalidSchema(invalid)
	}
	return &Error{Code: CodeInvalid, Message: "not a valid JSON Schema (" + quoted(err.Error()) + ")"}
}

func localRef(u string) string { return strings.TrimPrefix(u, rootURL) }

func isDialect(doc any, loaded string) bool {
	m, _ := doc.(map[string]any)
	dialect, _ := m["$schema"].(string)
	dialect, _, _ = strings.Cut(dialect, "#")
	return dialect != "" && dialect == loaded
}

// invalidSchema says where a document breaks the rules of its dialect.
func invalidSchema(invalid *jsonschema.SchemaValidationError) error {
	var ve *jsonschema.ValidationError
	if !errors.As(invalid.Err, &ve) {
		return &Error{Code: CodeInvalid, Message: "not a valid JSON Schema"}
	}
	problems, _ := flatten(ve)
	if len(problems) == 0 {
		return &Error{Code: CodeInvalid, Message: "not a valid JSON Schema"}
	}
	p := problems[0]
	return &Error{
		Code: CodeInvalid, Path: cleanPointer(p.Pointer),
		Message: fmt.Sprintf("not a valid JSON Schema: %s", p.Message),
	}
}
