package shell

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// Advice is for who can use it: a session that works elsewhere is told of its temporary folder.
func TestAdvice(t *testing.T) {
	t.Parallel()
	w := &troupe.Watched{Attempts: []troupe.Attempt{{Op: troupe.OpCreate, Path: "/tmp/x"}}}
	if text := refusals(w, "/home/me/project"); !strings.HasSuffix(text,
		"create /tmp/x. Its own folder for temporary files is $TMPDIR.)") {
		t.Error(text)
	}
	const leaks = "==7==LeakSanitizer has encountered a fatal error.\n"
	if text := untraced(w, leaks); !strings.Contains(text, "ASAN_OPTIONS=detect_leaks=0") {
		t.Error(text)
	}
	if untraced(nil, leaks) != "" || untraced(w, "ok") != "" {
		t.Error("it is told where it is not so")
	}
	if text := refusals(w, "/tmp/project"); !strings.HasSuffix(text, "create /tmp/x.)") {
		t.Error(text)
	}
}
