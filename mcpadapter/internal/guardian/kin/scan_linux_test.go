package kin

import "testing"

func TestStatLinesAreReadFromTheirEnd(t *testing.T) {
	t.Parallel()
	const rest = " 0 0 0 0 0 0 0 0 0 0 20 0 1 777 1 2 3"
	cases := []struct {
		line string
		want process
		ok   bool
	}{
		{"5 (cat) S 2 3 4 0 -1" + rest, process{Member: Member{5, 777}, parent: 2, group: 3, session: 4}, true},
		{"5 (a) Z 9 (b c) Z 2 3 4 0 -1" + rest, process{Member: Member{5, 777}, parent: 2, group: 3, session: 4, gone: true}, true},
		{"5 (cat) S 2 3", process{}, false},
		{"", process{}, false},
	}
	for _, c := range cases {
		if got, ok := parseStat(5, []byte(c.line)); got != c.want || ok != c.ok {
			t.Errorf("%q: %+v %v", c.line, got, ok)
		}
	}
}
