package ledger

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// A plain digest of a short text confirms a guess. What an entry says of values
// that may hold what somebody typed is therefore a commitment: SHA-256 over a
// random salt, the field's name, a zero byte and the plain digest. The salt is
// kept beside the chain, not in it: without the salt the commitment says nothing
// of the value any more, and the entry stays as it was.
//
// One random salt is made for an entry; the salt of each field is derived from
// it, so that a single value can be redacted while the others of its entry can
// still be opened.

// SaltSize is the length of a salt in bytes.
const SaltSize = 32

// AllFields is the name under which the salt is kept that those of all fields of
// an entry are derived from.
const AllFields = "*"

const (
	plainPrefix  = "sha256:"
	saltedPrefix = "salted-sha256:"
)

// The fields of an entry that hold commitments.
const (
	FieldArgs   = "args_digest"
	FieldPrompt = "prompt_digest"
	FieldResult = "result_digest"
	FieldAnswer = "answer_digest"
)

// Salt opens the commitment of one field, or of AllFields.
type Salt struct {
	Field string
	Salt  []byte
}

// field is a value of a draft that is a commitment.
type field struct {
	name  string
	value *string
}

func committed(d *Draft) [4]field {
	return [4]field{{FieldArgs, &d.ArgsDigest}, {FieldPrompt, &d.PromptDigest}, {FieldResult, &d.ResultDigest}, {FieldAnswer, &d.AnswerDigest}}
}

// Commit replaces the plain digests of a draft by salted commitments and returns
// the salt of AllFields, nil where there is nothing to commit to.
func Commit(d Draft) (Draft, []byte) {
	var salt []byte
	for _, f := range committed(&d) {
		if !strings.HasPrefix(*f.value, plainPrefix) {
			continue
		}
		if salt == nil {
			salt = make([]byte, SaltSize)
			_, _ = rand.Read(salt) // never fails
		}
		*f.value = Commitment(f.name, *f.value, Derive(salt, f.name))
	}
	return d, salt
}

// Derive is the salt of a field out of that of AllFields.
func Derive(salt []byte, field string) []byte {
	sum := sha256.Sum256(append(slices.Clone(salt), field...))
	return sum[:]
}

// Commitment is the value of a field over a plain digest ("sha256:<hex>").
func Commitment(field, digest string, salt []byte) string {
	buf := make([]byte, 0, 128)
	buf = append(buf, salt...)
	buf = append(buf, field...)
	buf = append(buf, 0)
	buf = append(buf, digest...)
	sum := sha256.Sum256(buf)
	return saltedPrefix + hex.EncodeToString(sum[:])
}

// Opens reports whether a field's value stands for a plain digest. Entries of
// before there were commitments hold the digest itself.
func Opens(value, field, digest string, salts []Salt) bool {
	if value == digest {
		return true
	}
	for _, s := range salts {
		own := s.Salt
		if s.Field == AllFields {
			own = Derive(s.Salt, field)
		} else if s.Field != field {
			continue
		}
		if len(s.Salt) == SaltSize && value == Commitment(field, digest, own) {
			return true
		}
	}
	return false
}

// Salted lists the fields of a draft that hold commitments, in the order of the
// constants.
func Salted(d Draft) []string {
	var out []string
	for _, f := range committed(&d) {
		if strings.HasPrefix(*f.value, saltedPrefix) {
			out = append(out, f.name)
		}
	}
	return out
}

// Plain lists the fields of a draft that hold plain digests: those of entries
// that were made before there were commitments.
func Plain(d Draft) []string {
	var out []string
	for _, f := range committed(&d) {
		if strings.HasPrefix(*f.value, plainPrefix) {
			out = append(out, f.name)
		}
	}
	return out
}

// unsalted reports whether a commitment of an entry has no salt any more.
func unsalted(d *Draft, salts string) bool {
	if salts == AllFields {
		return false
	}
	for _, f := range committed(d) {
		if strings.HasPrefix(*f.value, saltedPrefix) && !slices.Contains(strings.Split(salts, ","), f.name) {
			return true
		}
	}
	return false
}
