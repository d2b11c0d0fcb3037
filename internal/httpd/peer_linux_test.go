package httpd

import (
	"os"
	"strings"
	"testing"
)

func TestProc(t *testing.T) {
	t.Parallel()
	p, err := proc{}.process(os.Getpid())
	if err != nil || p.parent != os.Getppid() || p.start == 0 {
		t.Errorf("this process is %+v, %v", p, err)
	}
	up, err := proc{}.process(p.parent)
	if err != nil || up.start > p.start {
		t.Errorf("its parent is %+v, %v", up, err)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("21 (a) b (c)) S 20 21 19 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 1 2")
	f.Add("1 (init")
	f.Add(")")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parseStat(s)
		if err == nil && len(strings.Fields(s)) < 20 {
			t.Errorf("%q is read as %+v", s, p)
		}
	})
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	p, err := parseStat("21 (a) S 1 1 1 (c)) S 20 22 19 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 1 2\n")
	if want := (process{20, 22, 19, 777}); err != nil || p != want {
		t.Errorf("%+v, %v; want %+v", p, err, want)
	}
}

func TestHasMarker(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	for env, want := range map[string]bool{
		"":                                   false,
		"A=1\x00B=2\x00":                     false,
		"A=1\x00TROUPE_AGENT=7k3f\x00B=2":    true,
		"TROUPE_AGENT=":                      true,
		"A=TROUPE_AGENT=1\x00":               false,
		"TROUPE_AGENTS=1\x00":                false,
		"A=" + long + "\x00TROUPE_AGENT=1":   true,
		"A=" + long + "TROUPE_AGENT=1\x00B=": false,
		// A slice of the buffer's size ends right before what looks like the name.
		"A=" + strings.Repeat("x", 4094) + "TROUPE_AGENT=1\x00": false,
	} {
		if got, err := hasMarker(strings.NewReader(env)); got != want || err != nil {
			t.Errorf("hasMarker(%.40q…) = %t, %v", env, got, err)
		}
	}
	if _, err := hasMarker(strings.NewReader("A=" + strings.Repeat("x", maxEnviron))); err == nil {
		t.Error("an environment without end is believed")
	}
}

func BenchmarkJudge(b *testing.B) {
	for b.Loop() {
		if err := judge(processes(), 1<<30, os.Getpid()); err != nil && !strings.Contains(err.Error(), "agent") {
			b.Fatal(err)
		}
	}
}
