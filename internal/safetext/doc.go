// Package safetext turns text that somebody else wrote (a server, a model, a
// file, an HTTP peer) into text that may be shown.
//
// Everything untrusted passes here before it reaches a terminal, a log line, a
// plain-text output or a prompt. Three invariants hold for every result:
//
//   - Inert: valid UTF-8 without control, format, private-use or other invisible
//     characters, so that no byte of it can move a cursor, reorder a line, hide
//     text or answer a terminal query. A Line also has no line break.
//   - Visible: nothing is swallowed. What cannot be shown as it is becomes a
//     control picture (␛), a code point (‹U+202E›), a byte (‹0x9B›) or a count
//     (‹+12 marks›). A cap says how much it left out: …‹+N bytes›.
//   - Stable: cleaning a result again, with the same cap, changes nothing.
//
// The types Line and Block exist so that the compiler tells cleaned text from raw
// text: a signature that takes a Line cannot be handed a server's string by
// accident. Convert to them only through the functions of this package.
//
// The package imports the standard library alone; every layer imports it.
package safetext
