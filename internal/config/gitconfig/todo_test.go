package gitconfig

import "testing"

// TestHarmlessTodo: lines that run something may go, and none may come.
func TestHarmlessTodo(t *testing.T) {
	for name, c := range map[string]struct {
		was, is string
		want    bool
	}{
		"picks":              {"pick a\npick b\n", "pick b\nsquash a x\n# note\n\n\tbreak\nlabel onto\r\n", true},
		"a new one":          {"", "pick a\nexec make\n", false},
		"a short one":        {"", "x make\n", false},
		"a blank before it":  {"", " \texec make\n", false},
		"nothing behind it":  {"", "exec\n", false},
		"it stays":           {"pick a\nexec make\npick b\nexec make\n", "exec make\npick b\nexec make\n", true},
		"it goes":            {"exec make\n", "noop\n", true},
		"it comes again":     {"exec make\n", "exec make\npick b\nexec make\n", false},
		"it says another":    {"exec make\n", "exec evil\n", false},
		"what git may learn": {"", "run make\n", false},
		"no line":            {"", "pick a\x00\nexec make\n", false},
		"half a word":        {"", "pick\vexec make\n", false},
	} {
		if got := HarmlessTodo([]byte(c.was), []byte(c.is)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !HarmlessTodo([]byte("exec make\n"), nil) || !HarmlessTodo(nil, []byte("pick a\n")) {
		t.Error("no list")
	}
}
