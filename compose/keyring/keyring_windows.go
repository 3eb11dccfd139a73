package keyring

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unicode/utf16"

	"github.com/danieljoos/wincred"
)

// target is the name of an item's generic credential.
func target(i Item) string { return i.Service + ":" + i.Account }

// store is the command that stores an item.
func store(i Item) string {
	return fmt.Sprintf("store it with  cmdkey /generic:%s /user:%s /pass", target(i), i.Account)
}

// get reads a credential. The system answers at once.
func get(_ context.Context, _ []string, item Item, _ time.Duration) (string, error) {
	c, err := wincred.GetGenericCredential(target(item))
	switch {
	case errors.Is(err, wincred.ErrElementNotFound):
		return "", missing(item)
	case err != nil:
		return "", fail(Failed, "the credential %s cannot be read", target(item))
	}
	return text(c.CredentialBlob), nil
}

// text reads a credential's bytes: programs of the system write UTF-16, others
// UTF-8, of which no key has a NUL.
func text(b []byte) string {
	if len(b) < 2 || len(b)%2 != 0 || b[1] != 0 {
		return string(b)
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}
