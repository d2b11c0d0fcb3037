package sandbox

import (
	"os"
	"runtime"
	"strings"
	"testing"
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
	if r.Landlock == 0 && r.LandlockNote == "" || !r.Namespaces && r.NamespacesNote == "" || !r.Notify && r.NotifyNote == "" {
		t.Errorf("something is missing without a reason: %+v", r)
	}
	if again := Probe(t.Context()); again != r {
		t.Errorf("asked twice: %+v, then %+v", r, again)
	}
	t.Logf("%+v", r)
}

func TestLines(t *testing.T) {
	t.Parallel()
	all := strings.Join(Report{Landlock: 7, Namespaces: true, Notify: true}.Lines(), "\n")
	none := strings.Join(Report{LandlockNote: "too old"}.Lines(), "\n")
	for text, want := range map[string][]string{
		all:  {"Landlock: version 7", "namespaces: available", "notifications: available", "not confined"},
		none: {"Landlock: not available (too old)", "namespaces: not available", "not confined"},
	} {
		for _, s := range want {
			if !strings.Contains(text, s) {
				t.Errorf("no %q in\n%s", s, text)
			}
		}
	}
}
