package event

//go:generate go test -run TestReference -args -update

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestReference keeps docs/reference/events.md as the code has it.
func TestReference(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "reference", "events.md")
	want := reference(t)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is stale (%v): run make generate", path, err)
	}
}

// source is what the comments of this package say of its structs.
type source struct {
	doc    map[string]string
	fields map[string]map[string]string // by struct and Go field
}

func readSource(t *testing.T) source {
	t.Helper()
	s := source{doc: map[string]string{}, fields: map[string]map[string]string{}}
	for _, file := range []string{"event.go", "binding.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if d, ok := n.(*ast.GenDecl); ok && d.Doc != nil && len(d.Specs) == 1 {
				if spec, ok := d.Specs[0].(*ast.TypeSpec); ok && spec.Doc == nil {
					spec.Doc = d.Doc
				}
			}
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s.doc[spec.Name.Name] = said(spec.Doc)
			if st, ok := spec.Type.(*ast.StructType); ok {
				s.fields[spec.Name.Name] = fieldDocs(st)
			}
			return true
		})
	}
	return s
}

// fieldDocs are the comments beside and above fields. One above a field counts
// for that field alone.
func fieldDocs(st *ast.StructType) map[string]string {
	out := map[string]string{}
	for _, f := range st.Fields.List {
		text := said(f.Doc)
		if text == "" {
			text = said(f.Comment)
		}
		for _, n := range f.Names {
			out[n.Name] = text
		}
	}
	return out
}

func said(c *ast.CommentGroup) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(c.Text()), " "), "|", `\|`)
}

func reference(t *testing.T) string {
	src := readSource(t)
	var b strings.Builder
	b.WriteString("# Events\n\nGenerated from the code by `make generate`. One line of `--output json` and one record of the journal\n" +
		"is one of these, as a flat JSON object. All share the fields of the header.\n\n")
	table(&b, src, reflect.TypeFor[Header](), nil)
	for _, durable := range []bool{true, false} {
		title := "\n# Ephemeral events\n\nNever journaled, without a sequence number; under load the oldest are dropped and counted.\n"
		if durable {
			title = "\n# Durable events\n\nJournaled, in the order of their sequence numbers, without gaps.\n"
		}
		b.WriteString(title)
		for _, typ := range slices.Sorted(slices.Values(Types())) {
			if Durable(typ) != durable {
				continue
			}
			of := reflect.TypeOf(classes[typ].make()).Elem()
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", typ, src.doc[of.Name()])
			if of.NumField() > 1 {
				b.WriteString("\n")
			}
			table(&b, src, of, reflect.TypeFor[Header]())
		}
	}
	return b.String()
}

// table lists the fields of a struct, those of embedded ones with them.
func table(b *strings.Builder, src source, of, without reflect.Type) {
	head := "| field | holds | |\n|---|---|---|\n"
	for _, f := range reflect.VisibleFields(of) {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "-" || name == "" || !f.IsExported() || within(of, f, without) {
			continue
		}
		about := []string{}
		if text := src.fields[owner(of, f).Name()][f.Name]; text != "" {
			about = append(about, text)
		}
		if strings.Contains(opts, "omit") {
			about = append(about, "(may be absent)")
		}
		fmt.Fprintf(b, "%s| `%s` | %s | %s |\n", head, name, kindOf(f.Type), strings.Join(about, " "))
		head = ""
	}
}

// owner is the struct that declares a field that may be an embedded one's.
func owner(of reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		of = of.Field(i).Type
	}
	return of
}

func within(of reflect.Type, f reflect.StructField, embedded reflect.Type) bool {
	return embedded != nil && owner(of, f) == embedded
}

// kindOf names a type for a reader of JSON.
func kindOf(t reflect.Type) string {
	switch t.String() {
	case "time.Time":
		return "time"
	case "json.RawMessage":
		return "JSON"
	case "[]content.Block":
		return "content blocks"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "string"
	case reflect.Slice:
		return "list of " + kindOf(t.Elem())
	case reflect.Struct, reflect.Map:
		return "object"
	default:
		return "number"
	}
}
