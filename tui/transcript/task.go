package transcript

import "time"

// Task adds what another loop's model gave a delegate to do. It is shown as the
// model's, never as a person's; for prefix see Asked.
func (t *Transcript) Task(at time.Time, loop, prefix, text string) {
	t.Asked(at, loop, prefix, text)
	for i := len(t.items) - 1; i >= 0; i-- {
		if it := t.items[i]; it.kind == KindUser && it.loop == loop {
			it.task = true
			return
		}
	}
}

// giver says whose words an item of KindUser holds.
func (it *Item) giver() string {
	if it.task {
		return "▌ task from a model"
	}
	return "▌ you"
}
