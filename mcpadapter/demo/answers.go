package demo

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"
)

var (
	colours = []string{"red", "green", "blue"}
	topics  = []string{"tools", "forms", "catalogs"}
)

// checkAnswers checks an accepted answer against nameForm. The SDK does so in
// the older era only.
func checkAnswers(content map[string]any) error {
	if _, ok := content["name"]; !ok {
		return fmt.Errorf("name is missing")
	}
	// Sorted, so that the same answer always names the same field.
	for _, field := range slices.Sorted(maps.Keys(content)) {
		if err := checkAnswer(field, content[field]); err != nil {
			return err
		}
	}
	return nil
}

func checkAnswer(field string, value any) error {
	ok := false
	switch field {
	case "name":
		s, isString := value.(string)
		n := utf8.RuneCountInString(s)
		ok = isString && n >= 1 && n <= 100
	case "age":
		n, isNumber := value.(float64)
		ok = isNumber && n == math.Trunc(n) && n >= 0 && n <= 150
	case "colour":
		s, isString := value.(string)
		ok = isString && slices.Contains(colours, s)
	case "topics":
		ok = areTopics(value)
	case "newsletter":
		_, ok = value.(bool)
	default:
		return fmt.Errorf("there is no field %q", field)
	}
	if !ok {
		return fmt.Errorf("%s has a value that the form does not allow", field)
	}
	return nil
}

func areTopics(value any) bool {
	list, ok := value.([]any)
	if !ok {
		return false
	}
	seen := map[string]bool{}
	for _, item := range list {
		s, isString := item.(string)
		if !isString || seen[s] || !slices.Contains(topics, s) {
			return false
		}
		seen[s] = true
	}
	return true
}
