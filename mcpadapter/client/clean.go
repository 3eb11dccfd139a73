package client

import (
	"bytes"
	"encoding/json"

	"github.com/looprig/looprig/internal/safetext"
)

// cleanJSON returns the value with every string and key in it cleaned. What is
// no JSON becomes a cleaned string.
func cleanJSON(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		v = string(raw)
	}
	out, err := json.Marshal(cleanValue(v))
	if err != nil {
		return json.RawMessage(`null`)
	}
	return out
}

func cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return safetext.ToBlock(v).String()
	case []any:
		for i := range v {
			v[i] = cleanValue(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[safetext.ToLine(k).String()] = cleanValue(x)
		}
		return out
	}
	return v
}
