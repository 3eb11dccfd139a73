package catalog

import "encoding/json"

// member is one member of a listed item: its key, canonical and raw value.
type member struct {
	key       string
	canonical []byte
	raw       json.RawMessage
}

// item is a listed item in canonical form, members in key order.
type item []member

type familyPages struct{}
