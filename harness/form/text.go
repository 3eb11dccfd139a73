package form

import (
	"encoding/json"
	"strings"

	"github.com/looprig/looprig/harness/schema"
)

// ParseText turns what a person typed into the JSON of one field: numbers by
// the grammar of JSON, options by label, title or value, several options
// separated by commas or as a JSON list. Text is taken as it is. It fails with
// *FieldError.
func (s Schema) ParseText(f Field, text string) (json.RawMessage, error) {
	if s.ValueBytes > 0 && len(text) > s.ValueBytes {
		return nil, &FieldError{Field: f.Name, Message: tooLarge(len(text), s.ValueBytes).Error()}
	}
	raw, err := f.parseText(text)
	if err == nil {
		raw, err = s.fit(f, raw)
	}
	if err != nil {
		return nil, &FieldError{Field: f.Name, Message: err.Error()}
	}
	if s.Whole {
		obj, fe := wholeObject(raw)
		if fe != nil {
			return nil, fe
		}
		return obj, nil
	}
	return raw, nil
}

func (f Field) parseText(text string) (json.RawMessage, error) {
	if f.Kind == KindText {
		raw, err := quoteJSON(text)
		if err != nil {
			return nil, misfit("is not valid UTF-8")
		}
		return raw, nil
	}
	if f.Kind == KindChoice { // a label may begin or end with a space
		if raw, err := f.chosen(text); err == nil {
			return raw, nil
		}
	}
	text = strings.TrimSpace(text)
	if f.Nullable && text == "null" && f.Kind != KindChoice {
		return json.RawMessage("null"), nil
	}
	switch f.Kind {
	case KindNumber, KindInteger:
		// The JSON reader's complaints are not for people.
		if _, err := schema.Compact([]byte(text)); err != nil || strings.Trim(text, "0123456789+-.eE") != "" {
			return nil, f.notNumber()
		}
		return json.RawMessage(text), nil
	case KindBoolean:
		return parseBool(text)
	case KindChoice:
		return f.chosen(text)
	case KindMulti:
		return f.chosenMany(text)
	default:
	}
	if text == "" {
		return nil, misfit("needs JSON")
	}
	return json.RawMessage(text), nil
}

func parseBool(text string) (json.RawMessage, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "y":
		return json.RawMessage("true"), nil
	case "false", "no", "n":
		return json.RawMessage("false"), nil
	}
	return nil, misfit("must be yes or no")
}

// chosen finds the option that a text means.
func (f Field) chosen(text string) (json.RawMessage, error) {
	for _, o := range f.Options {
		if o.Label == text {
			return o.Value, nil
		}
	}
	for _, o := range f.Options {
		if o.valueText() == text {
			return o.Value, nil
		}
	}
	var found json.RawMessage
	for _, o := range f.Options {
		if o.Title == text && text != "" {
			if found != nil {
				return nil, misfit("means more than one option; use the value")
			}
			found = o.Value
		}
	}
	if found != nil {
		return found, nil
	}
	if f.Nullable && text == "null" {
		return json.RawMessage("null"), nil
	}
	return f.option(json.RawMessage(text))
}

// maxParts bounds how many options one text may name.
const maxParts = 1024

func (f Field) chosenMany(text string) (json.RawMessage, error) {
	if text == "" {
		return json.RawMessage("[]"), nil
	}
	if strings.HasPrefix(text, "[") {
		if _, err := parseArray([]byte(text)); err == nil {
			return json.RawMessage(text), nil
		}
	}
	if one, err := f.chosen(text); err == nil { // a label may hold a comma
		return joinArray([]json.RawMessage{one}), nil
	}
	if n := strings.Count(text, ",") + 1; n > maxParts {
		return nil, misfitf("names %d options, at most %d", n, maxParts)
	}
	var items []json.RawMessage
	for part := range strings.SplitSeq(text, ",") {
		item, err := f.chosen(strings.TrimSpace(part))
		if err != nil {
			return nil, misfit(quoted(strings.TrimSpace(part)) + " " + err.Error())
		}
		items = append(items, item)
	}
	return joinArray(items), nil
}
