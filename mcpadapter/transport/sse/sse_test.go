package sse

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestConfigErrorsShowNoValue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"no URL":        {},
		"scheme":        {URL: "ftp://canary.example/canary"},
		"no host":       {URL: "http:///canary"},
		"unparsable":    {URL: "http://canary.example/\x00canary"},
		"plain":         {URL: "http://canary.example/canary?canary"},
		"long":          {URL: "https://example.com/" + strings.Repeat("canary", 2000)},
		"header value":  {URL: "https://example.com/", Headers: map[string]string{"X": "canary\r\nY: canary"}},
		"header name":   {URL: "https://example.com/", Headers: map[string]string{"canary canary": "v"}},
		"reserved":      {URL: "https://example.com/", Headers: map[string]string{"Host": "canary"}},
		"header, twice": {URL: "https://example.com/", Headers: map[string]string{"X-A": "canary", "x-a": "canary"}},
	} {
		_, err := New(c)
		var bad *ConfigError
		if !errors.As(err, &bad) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDeclaredMarksSecrets(t *testing.T) {
	t.Parallel()
	tr, err := New(Config{
		URL: "https://canary-user:canary-pass@example.com:8443/canary-path?canary-query", Headers: map[string]string{"x-key": "canary-value"},
		HostEnv: []string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := tr.Origin(); got != "https://example.com:8443" {
		t.Errorf("origin %q", got)
	}
	found := 0
	for _, s := range tr.Declared() {
		if strings.Contains(s.Value, "canary") {
			found++
			if !s.Secret {
				t.Errorf("%s is not marked", s.Key)
			}
		}
	}
	if found != 4 {
		t.Errorf("%d of 4 secrets are declared", found)
	}
	if got := tr.URL(); strings.Contains(got, "canary-user") || strings.Contains(got, "canary-pass") {
		t.Errorf("URL %q", got)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "2147483647": maxRetryAfter, "99999999999999": 0,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %s", value, got)
		}
	}
}
