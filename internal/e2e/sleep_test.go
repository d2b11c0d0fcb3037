package e2e_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestSleepKilled puts a session away while it works, and kills its process, or the one that asked, in the middle of
// that. The session is then asleep or left behind, and either way it goes on to its end, with every effect once.
func TestSleepKilled(t *testing.T) {
	t.Parallel()
	rng := lots(t)
	for i := range 8 {
		begins := time.Duration(150+rng.IntN(300)) * time.Millisecond
		kills := time.Duration(50+rng.IntN(400)) * time.Millisecond
		which := rng.IntN(3)
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			sleepKilledAt(t, begins, kills, which)
		})
	}
}

func sleepKilledAt(t *testing.T, begins, kills time.Duration, which int) {
	p := newPlace(t)
	p.write("../s.yaml", twoChildren)
	p.write("editor.txt", "END\n")
	p.write("basher.txt", "")
	p.write("main.txt", "")
	proc, err := startProcess(p.command(p.goOn()...))
	if err != nil {
		t.Fatal(err)
	}
	after := func(d time.Duration) { <-time.NewTimer(d).C }
	after(begins)
	asks, err := startProcess(p.command("sleep", "job", "--within", "100ms"))
	if err != nil {
		t.Fatal(err)
	}
	after(kills)
	if which != 0 {
		_ = asks.cmd.Process.Kill() // it may have ended
	}
	if which != 1 {
		_ = proc.cmd.Process.Kill()
	}
	told, err := asks.wait()
	if err != nil || told.code == 1 && which == 1 {
		t.Fatalf("troupe sleep: %v, exit %d\n%s%s", err, told.code, told.out, told.errOut)
	}
	if r, err := proc.wait(); err != nil || r.code > 0 && r.code != 130 {
		t.Fatalf("the run: %v, exit %d\n%s", err, r.code, r.errOut)
	}
	what := fmt.Sprintf("sleep after %v, killed after %v more (%d), which said %d", begins, kills, which, told.code)
	sleeps := strings.Contains(p.troupe("show", "job").out, "asleep since")
	if told.code == 0 && !sleeps {
		t.Errorf("%s: it was told that it is asleep, and it is not", what)
	}
	t.Logf("%s: asleep %v", what, sleeps)
	args := p.goOn()
	if sleeps {
		if refused := p.troupe("-p", "--resume", "job", "more"); refused.code != 2 {
			t.Errorf("%s: gone on with while it is asleep: exit %d", what, refused.code)
		}
		args = []string{"wake", "-p", "job"}
	}
	if args != nil {
		if run := p.run(0, args...); run.Result != "all done" {
			t.Errorf("%s: then %+v", what, run)
		}
	}
	p.countEffects(p.audit("job"))
}
