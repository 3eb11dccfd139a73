package pin

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func endpoint(t *testing.T, a Address) Fingerprint {
	t.Helper()
	fp, err := Endpoint(a)
	if err != nil {
		t.Fatal(err)
	}
	return fp
}

func TestEndpointsDifferInWhatTheyReach(t *testing.T) {
	t.Parallel()
	base := Address{Kind: "http", URL: "https://mcp.example/a/mcp?k=1", Headers: []string{"X-B", "Authorization"}}
	seen := map[string]string{endpoint(t, base).Digest: "base"}
	for name, change := range map[string]func(*Address){
		"kind": func(a *Address) { a.Kind = "sse" }, "scheme": func(a *Address) { a.URL = "http://mcp.example/a/mcp?k=1" },
		"host": func(a *Address) { a.URL = "https://mcp.exampl/a/mcp?k=1" }, "port": func(a *Address) { a.URL = "https://mcp.example:444/a/mcp?k=1" },
		"path": func(a *Address) { a.URL = "https://mcp.example/a%2Fmcp?k=1" }, "query": func(a *Address) { a.URL = "https://mcp.example/a/mcp?k=2" },
		"header": func(a *Address) { a.Headers = []string{"X-B"} }, "issuer": func(a *Address) { a.Issuer = "https://i.example" },
	} {
		a := base
		change(&a)
		fp := endpoint(t, a)
		if was, ok := seen[fp.Digest]; ok {
			t.Errorf("another %s has the fingerprint of %s", name, was)
		}
		seen[fp.Digest] = name
	}
	same := Address{Kind: "http", URL: "https://MCP.example:443/a/mcp?k=1", Headers: []string{"authorization", "x-b", "X-B"}}
	if endpoint(t, same).Digest != endpoint(t, base).Digest {
		t.Error("what reaches the same has another fingerprint")
	}
}

// The address may carry a secret: it is in private lines alone.
func TestEndpointLinesKeepTheAddressApart(t *testing.T) {
	t.Parallel()
	fp := endpoint(t, Address{Kind: "http", URL: "http://mcp.example/s3cret-path?key=s3cret-query", Headers: []string{"X-Key"}})
	if fp.Address() != "http://mcp.example/s3cret-path?key=s3cret-query" || fp.Kind != LayerEndpoint || fp.Origin != "http://mcp.example" {
		t.Errorf("%+v", fp)
	}
	public := ""
	for _, l := range fp.Lines {
		if !l.Private() {
			public += l.Label + " " + l.Value + "\n"
		}
	}
	if strings.Contains(public+strings.Join(fp.Warnings, " "), "s3cret") {
		t.Errorf("public: %s", public)
	}
	for _, want := range []string{"origin http://mcp.example", "encrypted no", "headers x-key", "with a query"} {
		if !strings.Contains(public, want) {
			t.Errorf("%q is missing in\n%s", want, public)
		}
	}
	if len(fp.Warnings) != 1 {
		t.Errorf("warnings %q", fp.Warnings)
	}
	if w := endpoint(t, Address{URL: "https://xn--e1awd7f.com/"}).Warnings; len(w) != 1 {
		t.Errorf("a look-alike host: %q", w)
	}
	var bad *AddressError
	for _, text := range []string{"", "mcp.example", "ftp://x/", "https://u@x/", "https://x/#f", "https:x", "https://x/%zz"} {
		if _, err := Endpoint(Address{URL: text}); !errors.As(err, &bad) || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestEndpointPinsStandBesideLaunches(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp-pins.json")
	fp := endpoint(t, Address{Kind: "http", URL: "https://mcp.example/"}).Digest
	must(t, open(t, path).Accept("a", LayerLaunch, fpA, "w", noon))
	must(t, open(t, path).Accept("a", LayerEndpoint, fp, "w", noon))
	s := open(t, path)
	if s.Check("a", LayerEndpoint, fp) != IsAccepted || s.Check("a", LayerLaunch, fpA) != IsAccepted || s.Check("a", LayerEndpoint, fpA) != Changed {
		t.Error("the layers are not kept apart")
	}
}
