package guardian

import (
	"reflect"
	"strings"
	"testing"

	"github.com/looprig/looprig/mcpadapter/internal/guardian/kin"
)

func TestHelperUnderstandsItsMessages(t *testing.T) {
	t.Parallel()
	ward := Ward{Member: kin.Member{PID: 4242, Start: 99}, Pipes: []uint64{7, 8}}
	other := Ward{Member: kin.Member{PID: 17, Start: 1}}
	c := charge{wards: map[int]Ward{}}
	c.listen(strings.NewReader("hello abc 12\n" + ward.message() + other.message() + "remove 17\nnonsense\nadd 1 1\nadd x\n"))
	want := charge{token: "abc", since: 12, wards: map[int]Ward{4242: ward}}
	if !reflect.DeepEqual(c, want) {
		t.Fatalf("got %+v, want %+v", c, want)
	}
}

func TestByeLeavesEverythingAlone(t *testing.T) {
	t.Parallel()
	c := charge{wards: map[int]Ward{}}
	c.listen(strings.NewReader("hello abc 12\nbye\n"))
	if !c.bye {
		t.Fatal("the orderly end was not understood")
	}
}

func TestUnhookedProgramIsNeverExecutedAgain(t *testing.T) {
	// Not parallel: it changes the process-wide hook.
	was := hooked.Swap(false)
	defer hooked.Store(was)
	if _, err := Start(); err != ErrNoHook { //nolint:errorlint // the sentinel itself is promised
		t.Fatalf("Start = %v, want ErrNoHook", err)
	}
}

func TestMainRecognisesOnlyItsArgument(t *testing.T) {
	was := hooked.Load()
	defer hooked.Store(was)
	for _, args := range [][]string{nil, {"looprig"}, {"looprig", "run", Arg}, {"looprig", Arg, "x"}, {Arg}} {
		if handled, _ := Main(args); handled {
			t.Errorf("Main(%q) took over", args)
		}
	}
}
