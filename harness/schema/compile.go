package schema

import (
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Compile checks raw against lim and compiles it. Every failure is an *Error.
func Compile(raw []byte, lim Limits) (*Schema, error) {
	lim = lim.withDefaults()
	doc, err := decode(raw, lim.JSONDepth)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(rootURL, doc); err != nil {
		return nil, &Error{Code: CodeInvalid, Message: "not a valid JSON Schema"}
	}
	return nil, err
}

const rootURL = "looprig://schema/root"

type meter struct{}

// Validate checks one JSON instance. What does not fit is a *ValidationError;
// an instance that cannot be judged within the bounds is an *Error.
func (s *Schema) Validate(instance []byte) error {
	return nil
}
