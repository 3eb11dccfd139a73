package demo

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestServeHTTPRefusesOtherAddresses(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:80", "example.com:80", "127.0.0.1", ""} {
		err := ServeHTTP(ctx, addr, Options{}, func(string) { t.Errorf("%q is served", addr) })
		var refused *AddressError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "127.0.0.1:") {
			t.Errorf("%q: %v", addr, err)
		}
	}
}
