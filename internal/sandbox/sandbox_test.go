package sandbox

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// The probe must not change the process that asks.
func TestProbeLeavesNoTrace(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	links := []string{"/proc/thread-self/ns/user", "/proc/thread-self/ns/mnt"}
	state := func() string {
		var b strings.Builder
		for _, l := range links {
			target, err := os.Readlink(l)
			if err != nil {
				t.Skipf("no /proc: %v", err)
			}
			b.WriteString(target + "\n")
		}
		status, err := os.ReadFile("/proc/thread-self/status")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(status)) {
			for _, field := range []string{"Uid:", "CapEff:", "NoNewPrivs:", "Seccomp:"} {
				if strings.HasPrefix(line, field) {
					b.WriteString(line)
				}
			}
		}
		return b.String()
	}
	before := state()
	r := Probe(t.Context())
	if after := state(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if r.OS != runtime.GOOS {
		t.Errorf("OS is %q", r.OS)
	}
	// Whatever is missing has a reason.
	if r.Landlock == 0 && r.LandlockNote == "" || !r.Namespaces && r.NamespacesNote == "" ||
		!r.Notify && r.NotifyNote == "" {
		t.Errorf("something is missing without a reason: %+v", r)
	}
	if again := Probe(t.Context()); again != r {
		t.Errorf("asked twice: %+v, then %+v", r, again)
	}
	t.Logf("%+v", r)
}

func TestLines(t *testing.T) {
	t.Parallel()
	full := Support{OS: "linux", Landlock: 7, Filter: true, Namespaces: true, Notify: true}
	less := full
	less.Landlock, less.LandlockNote, less.Namespaces, less.Notify, less.Root = 1, "held down for a test", false, false,
		true
	for _, c := range []struct {
		report Support
		levels int
		want   []string
		not    string
	}{
		{full, 2, []string{"Landlock: version 7", "namespaces: available", "notifications: available",
			"can run read-only"}, "below"},
		{less, 2, []string{"version 1 (held down", "or linked", "truncated", "single ports", "signals are not confined",
			"put back", "what it has itself just made", "let this user make user namespaces", "sandbox.allow_read",
			"not known", "run as root"}, "cannot be confined"},
		{Support{OS: "linux", LandlockNote: "too old", Filter: true}, 0,
			[]string{"not available (too old)", "cannot be confined without Landlock"}, "can run"},
		{Support{OS: "linux", Landlock: 7}, 0, []string{"cannot be confined without seccomp"}, "can run"},
		{Support{OS: "darwin", Untested: true}, 2, []string{"not been tested"}, "Landlock"},
		{Support{OS: "darwin", LandlockNote: "gone"}, 0, []string{"cannot be confined", "gone"}, "can run"},
		{Support{OS: "plan9", LandlockNote: "not available on plan9"}, 0, []string{"cannot be confined"}, "can run"},
	} {
		text := strings.Join(c.report.Lines(), "\n")
		for _, s := range c.want {
			if !strings.Contains(text, s) {
				t.Errorf("no %q in\n%s", s, text)
			}
		}
		if strings.Contains(text, c.not) || len(c.report.Levels()) != c.levels {
			t.Errorf("%d levels and\n%s", len(c.report.Levels()), text)
		}
	}
}

func TestQuietHasReasons(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range append(Quiet(), Offline()...) {
		if s.Name == "" || s.Why == "" || seen[s.Name] || strings.ContainsAny(s.Name+s.Value, "=\x00") {
			t.Errorf("%+v", s)
		}
		seen[s.Name] = true
	}
	if all := Environment(append(Quiet(), Offline()...)); len(all) != len(seen) {
		t.Error(all)
	}
}

func TestSeatbelt(t *testing.T) {
	t.Parallel()
	text := seatbelt(troupe.Confinement{
		Level: troupe.LevelWorkspace, Temp: "/none/t", Writable: []string{`/none/w"(s)`},
		Protected: []string{`/none/w"(s)/.git/hooks`}, Hidden: []string{"/none/h"},
		Network: troupe.Network{Proxy: 8080},
	})
	order := []string{"(version 1)", "(deny file-write*)\n", `(allow file-write* (subpath "/none/w\"(s)"))`,
		`(deny file-write* (subpath "/none/w\"(s)/.git/hooks"))`,
		`(deny file-write-unlink (literal "/none/w\"(s)/.git"))`, `(deny file-read* (subpath "/none/h"))`,
		"(deny network*)\n", `(remote tcp "localhost:8080")`}
	at := 0
	for _, s := range order {
		i := strings.Index(text[at:], s)
		if i < 0 {
			t.Fatalf("no %s, or too early, in\n%s", s, text)
		}
		at += i
	}
	if strings.Count(text, "(") != strings.Count(text, ")") {
		t.Errorf("parentheses:\n%s", text)
	}
}

// FuzzSeatbeltQuote: no path becomes a rule.
func FuzzSeatbeltQuote(f *testing.F) {
	for _, s := range []string{"/a", `/a"b`, `/a\`, "/a\n)(allow default)", `\"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q := quoted(s)
		var back strings.Builder
		for i := 1; i < len(q)-1; i++ {
			if q[i] == '"' {
				t.Fatalf("%q ends early: %s", s, q)
			}
			if q[i] == '\\' {
				i++
			}
			back.WriteByte(q[i])
		}
		if back.String() != s {
			t.Fatalf("%q became %q", s, back.String())
		}
	})
}
