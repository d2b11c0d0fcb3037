package gate

import (
	"slices"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// TestBareDeniesBindCommands: a rule that denies all edits holds for redirects, which are edits, and one that
// denies reading the whole project for commands that read there.
func TestBareDeniesBindCommands(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rules   []string
		command string
		denied  bool
	}{
		{[]string{"Edit", "Edit(*)", "Edit(**)", "Write", "Write(**)", "Write(*)", "Edit(/**)", "*", "E*"},
			"echo x > f", true},
		{[]string{"Edit", "Write"}, "go test ./... 2>&1 >> log", true},
		{[]string{"Edit", "Write"}, "x=$(date); echo a > $x", true},
		{[]string{"Edit", "Edit(**)", "Write"}, "go vet ./... > /dev/null 2>&1", false},
		{[]string{"Edit", "Edit(**)", "Write"}, "cat f", false},
		{[]string{"Edit", "Write"}, "echo 'a > b'", false},
		{[]string{"NotebookEdit", "Read", "Grep(**)", "Glob"}, "echo x > f", false},
		{[]string{"Read(**)", "Read(*)", "Read(/**)", "Read(//**)", "Read(./**)"}, "cat f", true},
		{[]string{"Read(**)", "Read(*)", "Read(/**)", "Read(//**)"}, "git log -p", true},
		{[]string{"Read(**)", "Read(*)"}, "grep -r x .", true},
		{[]string{"Read(**)", "Read(*)"}, "make", true},
		{[]string{"Read(**)", "Read(*)"}, "ls", false}, // the kernel shows it nothing
		{[]string{"Read(**)", "Read(*)"}, "echo hi", false},
		{[]string{"Read(**)", "Read(*)"}, "cat /etc/hosts", false},
		{[]string{"Read"}, "cat f", false}, // the tool, and nothing said of files
		{[]string{"Read(/src/**)"}, "ls docs", false},
	} {
		for _, text := range test.rules {
			q := query("Bash", bash(test.command), append(allows(t, "Bash"), parse(t, troupe.Deny, text))...)
			q.Chain[0].Mode = troupe.ModeAcceptEdits
			d := Decide(q)
			if denied := d.Effect == troupe.Deny; denied != test.denied || denied && d.Rule != text {
				t.Errorf("%s, %s: %+v", text, test.command, d)
			}
		}
	}
}

// TestKept: which files rules keep commands from changing, whatever wildcards they have.
func TestKept(t *testing.T) {
	t.Parallel()
	chain := []Layer{
		{Managed: []rule.Rule{parse(t, troupe.Deny, "Edit(~/notes/**)")},
			Rules: []rule.Rule{parse(t, troupe.Deny, "Edit(/src/**)"), parse(t, troupe.Deny, "Write(*.md)"),
				parse(t, troupe.Allow, "Edit(//x)"), parse(t, troupe.Ask, "Edit(/asked)"),
				parse(t, troupe.Deny, "Read(/r)")}},
	}
	kept := Kept(chain, []string{"/proj"}, "/home/u")
	for file, want := range map[string]string{
		"/proj/src/a/b.go": "Edit(/src/**)", "/proj/SRC/x": "Edit(/src/**)", "/proj/a/b.md": "Write(*.md)",
		"/proj/README.MD": "Write(*.md)", "/home/u/notes/x": "Edit(~/notes/**)", "/proj/main.go": "", "/x": "",
		"/proj/asked": "", "/proj/r": "",
	} {
		if why := kept(file); why != "" && why != `the rule "`+want+`" denies it` || (why == "") != (want == "") {
			t.Errorf("%s: %q, want %q", file, why, want)
		}
	}
	for _, text := range []string{"Edit", "Edit(*)", "Edit(**)", "Write", "Write(**)", "*", "Edit(//**)"} {
		kept := Kept([]Layer{{Rules: []rule.Rule{parse(t, troupe.Deny, text)}}}, []string{"/proj"}, "/home/u")
		if !slices.ContainsFunc([]string{"/proj"}, func(f string) bool { return kept != nil && kept(f) != "" }) {
			t.Errorf("%s leaves the folder open", text)
		}
	}
	others := []rule.Rule{parse(t, troupe.Deny, "Read(x)"), parse(t, troupe.Deny, "Bash")}
	if Kept([]Layer{{Rules: others}}, nil, "") != nil {
		t.Error("rules about other things keep files")
	}
}
