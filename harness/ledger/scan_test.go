package ledger

import (
	"reflect"
	"testing"
	"time"
)

// What the one-pass reader takes, the general decoder takes as well, and reads
// the same of it.
func FuzzScanAgreesWithDecode(f *testing.F) {
	for _, d := range []Draft{
		{Kind: KindIntent, Session: "s", Loop: "main", Turn: "t1", Call: "c1", Considered: []string{"deny[0]", "default"}, Attempts: 2},
		{Kind: KindDecision, Detail: `a "quoted" <b> ü`},
		{Kind: KindRedaction, Redacts: []uint64{1, 22}, Reason: "asked for"},
		{},
	} {
		_, s, err := Seal(d, 7, "sha256:aa", time.Unix(1_800_000_000, 123_000))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(s.Body)
	}
	for _, raw := range []string{
		`{"seq":07,"time":"2027-01-15T08:00:00Z","prev":"","kind":"pin"}`,
		`{"seq":7,"time":"2027-01-15T08:00:00.10Z","prev":"","kind":"pin"}`,
		`{"seq":7,"time":"2027-01-15T08:00:00+00:00","prev":"","kind":"pin"}`,
		`{"seq":7,"time":"2027-01-15T08:00:00Z","prev":"","kind":"pin","session":""}`,
		`{"seq":7,"time":"2027-01-15T08:00:00Z","prev":"","kind":"pin","attempts":0}`,
		`{"seq":7,"time":"2027-01-15T08:00:00Z","prev":"","kind":"pin","considered":[]}`,
		`{"seq":7,"time":"2027-01-15T08:00:00Z","prev":"","kind":"pin"} `,
		`{"seq":7,"time":"2027-01-15T08:00:00Z","prev":"","kind":"pin","loop":"b","session":"a"}`,
		`{"seq":7,"time":"2027-01-15T08:00:00Z","prev":"","kind":"pin","detail":"a\u0041"}`,
		`{"seq":7,"time":"2027-01-15T24:00:00Z","prev":"","kind":"pin"}`,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var quick body
		if !scan(raw, &quick) {
			return // the general decoder decides
		}
		slow, err := decode(Stored{Seq: quick.Seq, Body: raw})
		if err != nil {
			t.Fatalf("taken in one pass, and refused by the decoder: %v\n%s", err, raw)
		}
		if !quick.Time.Equal(slow.Time) {
			t.Fatalf("two times of %s", raw)
		}
		quick.Time, slow.Time = time.Time{}, time.Time{}
		if !reflect.DeepEqual(quick, slow) {
			t.Fatalf("two readings of %s:\n%+v\n%+v", raw, quick, slow)
		}
	})
}

// Every member of an entry is one that the reader knows in its place: an entry
// with all of them is read in one pass.
func TestScanKnowsEveryMember(t *testing.T) {
	t.Parallel()
	var d Draft
	v := reflect.ValueOf(&d).Elem()
	for i := range v.NumField() {
		switch m := v.Field(i); m.Kind() {
		case reflect.String:
			m.SetString("x")
		case reflect.Int:
			m.SetInt(3)
		case reflect.Slice:
			if m.Type().Elem().Kind() == reflect.Uint64 {
				m.Set(reflect.ValueOf([]uint64{1, 20}))
				continue
			}
			m.Set(reflect.ValueOf([]string{"a", "b"}))
		default:
			t.Fatalf("a member of kind %s", m.Kind())
		}
	}
	e, s, err := Seal(d, 1, "sha256:bb", time.Unix(1_800_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	var b body
	if !scan(s.Body, &b) || !reflect.DeepEqual(b.Draft, e.Draft) {
		t.Fatalf("not read in one pass: %s", s.Body)
	}
}
