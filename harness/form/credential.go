package form

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Credential looks for a form that asks for a secret: a password format, a
// write-only property, a credential word in the name or title of a field that
// takes free input, or a text that solicits a credential beside such a field.
// field is "" when the form's own text is the reason; reason is host-written.
//
// It is a heuristic over English words and no security boundary: a server that
// words its question otherwise, or in another language, is not found. What it
// protects is a person in a hurry, from a server that is merely careless.
func Credential(s Schema, message string) (field, reason string, found bool) {
	for _, f := range s.Fields {
		switch {
		case f.Format == FormatPassword:
			return f.Name, "the field's format is password", true
		case f.WriteOnly:
			return f.Name, "the field is write-only, as secrets are", true
		case !f.takesSecret():
			continue
		}
		for _, text := range []string{f.Name, f.Title} {
			if word, ok := credentialWord(split(text)); ok {
				return f.Name, "the field asks for a credential (" + word + ")", true
			}
		}
		if word, ok := solicits(f.Description); ok && f.Kind == KindText {
			return f.Name, "the field's description asks for a credential (" + word + ")", true
		}
	}
	if !s.HasFreeText() {
		return "", "", false
	}
	for _, text := range []string{message, s.Title, s.Description} {
		if word, ok := solicits(text); ok {
			return "", "the form's text asks for a credential (" + word + ")", true
		}
	}
	return "", "", false
}

// takesSecret reports whether a secret could be typed into the field.
func (f Field) takesSecret() bool {
	switch f.Kind {
	case KindText, KindRaw, KindNumber, KindInteger:
		return true
	default: // chosen from a list
		return false
	}
}

// The vocabulary. Words are lower case; a phrase is words in a row.
var (
	// secrets are credentials wherever they stand, unless a word of harmless
	// follows.
	secrets = []string{
		"password", "passwords", "passwd", "passphrase", "passcode", "pwd", "secret", "secrets", "credential",
		"credentials", "token", "apikey", "otp", "totp", "cvv", "cvc", "mnemonic", "bearer",
	}
	// fused are found inside longer words as well: userpassword, myapikey.
	fused = []string{
		"password", "passwd", "passphrase", "passcode", "apikey", "secretkey", "privatekey", "accesskey",
		"accesstoken", "authtoken", "refreshtoken", "sessiontoken", "bearertoken", "clientsecret",
	}
	phrases = [][]string{
		{"api", "key"}, {"api", "keys"}, {"access", "key"}, {"private", "key"}, {"signing", "key"},
		{"encryption", "key"}, {"ssh", "key"}, {"auth", "key"}, {"access", "tokens"}, {"api", "tokens"},
		{"auth", "tokens"}, {"pass", "word"}, {"pass", "phrase"}, {"pass", "code"}, {"pin", "code"},
		{"pin", "number"}, {"card", "number"}, {"security", "code"}, {"verification", "code"}, {"auth", "code"},
		{"authentication", "code"}, {"one", "time", "code"}, {"2fa", "code"}, {"mfa", "code"}, {"sms", "code"},
		{"login", "code"}, {"recovery", "code"}, {"backup", "code"}, {"seed", "phrase"}, {"recovery", "phrase"},
		{"your", "pin"}, {"session", "cookie"},
	}
	// harmless words say that a credential is talked about, not asked for: the
	// token limit, the password policy.
	harmless = []string{
		"limit", "limits", "count", "budget", "length", "policy", "type", "name", "expiry", "expiration", "usage",
		"rotation", "strength", "manager", "id", "ids", "santa",
	}
	// counting words before "token" say that it is a measure.
	counting = []string{"max", "min", "maximum", "minimum", "per", "number", "num", "total"}
	// verbs solicit.
	verbs = []string{
		"enter", "provide", "type", "paste", "give", "send", "share", "supply", "input", "submit", "need", "needs",
		"require", "requires", "required", "tell", "insert", "confirm", "specify", "write", "fill", "put", "what",
		"whats", "reply", "respond", "verify", "authenticate", "login", "copy",
	}
)

// credentialWord finds a credential among words in a row.
func credentialWord(words []string) (string, bool) {
	if len(words) == 1 && words[0] == "pin" {
		return "pin", true
	}
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		if slices.Contains(harmless, next) {
			continue
		}
		if w == "token" && i > 0 && slices.Contains(counting, words[i-1]) {
			continue
		}
		if slices.Contains(secrets, w) {
			return w, true
		}
		for _, f := range fused {
			if strings.Contains(w, f) {
				return f, true
			}
		}
	}
	for _, p := range phrases {
		for i := range words {
			if end := i + len(p); end <= len(words) && slices.Equal(words[i:end], p) &&
				(end == len(words) || !slices.Contains(harmless, words[end])) {
				return strings.Join(p, " "), true
			}
		}
	}
	return "", false
}

// solicits finds a sentence that names a credential and asks for something, or
// that is a label of one: "API key", "Your GitHub token:".
func solicits(text string) (string, bool) {
	const (
		labelWords = 2 // a label without a colon
		colonWords = 5 // one with a colon
	)
	for text != "" {
		sentence, colon := text, false
		if end := strings.IndexFunc(text, endsSentence); end >= 0 {
			sentence, colon = text[:end], text[end] == ':'
			_, size := utf8.DecodeRuneInString(text[end:])
			text = text[end+size:]
		} else {
			text = ""
		}
		words := split(sentence)
		word, ok := credentialWord(words)
		if !ok {
			continue
		}
		asks := slices.ContainsFunc(words, func(w string) bool { return slices.Contains(verbs, w) })
		if asks || len(words) <= labelWords || (colon && len(words) <= colonWords) {
			return word, true
		}
	}
	return "", false
}

func endsSentence(r rune) bool { return strings.ContainsRune(".!?;:\n\r\u2028\u2029。！？：", r) }

// split cuts a name or a text into lower-case words: at everything that is no
// letter and no digit, and where camel case begins a word. Invisible
// characters, which could tear a word apart for the eye of a program only, are
// left out first.
func split(text string) []string {
	const maxText = 64 << 10 // a bound, far over what any form may hold
	text = text[:min(len(text), maxText)]
	runes := make([]rune, 0, len(text))
	for _, r := range text {
		if !unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me) && r != '\'' && r != '’' {
			runes = append(runes, r)
		}
	}
	var words []string
	start := 0
	flush := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(string(runes[start:end])))
		}
		start = end
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush(i)
			start = i + 1
		case i > start && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) ||
			(i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1]))):
			flush(i)
		}
	}
	flush(len(runes))
	return words
}
