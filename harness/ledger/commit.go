package ledger

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// A plain digest of a short text confirms a guess. What an entry says of values
// that can hold free text is therefore a commitment: SHA-256 over a random salt,
// the field's name, a zero byte and the plain digest. The salt is kept apart;
// without it the commitment says nothing of the text any more, and the entry
// stays as it was.

// SaltSize is the length of a salt in bytes.
const SaltSize = 32

const (
	plainPrefix  = "sha256:"
	saltedPrefix = "salted-sha256:"
)

// The fields of an entry that hold commitments.
const (
	FieldArgs   = "args_digest"
	FieldPrompt = "prompt_digest"
	FieldResult = "result_digest"
)

// Salt opens one commitment.
type Salt struct {
	Field string
	Salt  []byte
}

// committed lists the values of a draft that are commitments.
func committed(d *Draft) [3]struct {
	name  string
	value *string
} {
	return [3]struct {
		name  string
		value *string
	}{{FieldArgs, &d.ArgsDigest}, {FieldPrompt, &d.PromptDigest}, {FieldResult, &d.ResultDigest}}
}

// Commit replaces the plain digests of a draft by salted commitments and returns
// their salts.
func Commit(d Draft) (Draft, []Salt) {
	var salts []Salt
	for _, f := range committed(&d) {
		if !strings.HasPrefix(*f.value, plainPrefix) {
			continue
		}
		salt := make([]byte, SaltSize)
		_, _ = rand.Read(salt) // never fails
		*f.value = Commitment(f.name, *f.value, salt)
		salts = append(salts, Salt{Field: f.name, Salt: salt})
	}
	return d, salts
}

// Commitment is the value of a field over a plain digest ("sha256:<hex>").
func Commitment(field, digest string, salt []byte) string {
	h := sha256.New()
	_, _ = h.Write(salt)
	_, _ = h.Write([]byte(field + "\x00" + digest))
	return saltedPrefix + hex.EncodeToString(h.Sum(nil))
}

// Opens reports whether a field's value stands for a plain digest. Entries of
// before there were commitments hold the digest itself.
func Opens(value, field, digest string, salt []byte) bool {
	return value == digest || (len(salt) == SaltSize && value == Commitment(field, digest, salt))
}

// Salted lists the fields of a draft that hold commitments, in order.
func Salted(d Draft) []string {
	var out []string
	for _, f := range committed(&d) {
		if strings.HasPrefix(*f.value, saltedPrefix) {
			out = append(out, f.name)
		}
	}
	return out
}
