package ledger

import (
	"maps"
	"slices"
)

// firstKeys returns at most n keys in order.
func firstKeys(set map[string]struct{}, n int) []string {
	keys := slices.Sorted(maps.Keys(set))
	return keys[:min(n, len(keys))]
}
