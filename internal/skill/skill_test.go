package skill

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func known() []troupe.ToolFacts {
	return []troupe.ToolFacts{{Name: "Bash"}, {Name: "Read"}, {Name: "Edit"}, {Name: "Grep"},
		{Name: "Agent", OldName: "Task"}}
}

// one reads one file as a skill.
func one(t *testing.T, text string) Skill {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{"thing/SKILL.md": text})
	set, problems := Load(Sources{Tools: known(), Folders: []Folder{Of(dir, "", front.ScopeUser, false)}})
	k, err := set.Lookup("thing")
	if err != nil {
		t.Fatalf("%v %v", err, problems)
	}
	return k
}

func TestSources(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"user/skills/pdf/SKILL.md":        "---\nname: pdf\ndescription: Mine\n---\nUser's",
		"user/commands/ship.md":           "Ship it",
		"p/.claude/skills/pdf/SKILL.md":   "---\ndescription: Theirs\n---\nProject's",
		"p/.claude/skills/pdf/ref/x.md":   "not a skill",
		"p/.claude/skills/a/b/SKILL.md":   "---\nname: deep\ndescription: d\n---\nDeep",
		"p/.claude/commands/sub/dir.md":   "---\ndescription: Sub\n---\nDo $1",
		"p/.claude/commands/README.md":    "About these commands",
		"p/.claude/commands/two words.md": "x",
		"p/.claude/skills/bad/SKILL.md":   "---\nname: bad\n",
		"p/.agents/skills/zip/SKILL.md":   "---\nname: has blank\ndescription: d\n---\nZip",
		"p/.troupe/skills/zip/SKILL.md":   "---\ndescription: nearer\n---\nTroupe's",
	})
	folders := []Folder{Of(filepath.Join(dir, "user/commands"), "", front.ScopeUser, true),
		Of(filepath.Join(dir, "user/skills"), "", front.ScopeUser, false)}
	for _, p := range ProjectPlaces() {
		root := filepath.Join(dir, "p")
		folders = append(folders, Of(filepath.Join(root, p.Dir), root, front.ScopeProject, p.Commands))
	}
	src := Sources{Tools: known(), Folders: folders, Trusted: func(string, []byte) bool { return true }}
	set, problems := Load(src)
	got := map[string]string{}
	for _, k := range set.List() {
		got[k.Name] = k.Body
	}
	want := map[string]string{"pdf": "Project's", "ship": "Ship it", "deep": "Deep", "sub:dir": "Do $1",
		"zip": "Troupe's"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff, problems)
	}
	if _, err := set.Lookup("bad"); err == nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Error(err)
	}
	text := set.Describe(nil, 1<<20)
	if !strings.Contains(text, "- sub:dir: Sub\n") || strings.Contains(text, "ship") {
		t.Error(text)
	}
	// A stranger's file takes none of the user's away, and runs nothing.
	src.Trusted = nil
	set, _ = Load(src)
	if k, err := set.Lookup("PDF"); err != nil || k.Body != "User's" || !k.Runs {
		t.Errorf("%+v %v", k, err)
	}
	if k, err := set.Lookup("/deep"); err != nil || k.Runs {
		t.Errorf("%+v %v", k, err)
	}
}

// TestRestrictions: what a file says of tools is never lost.
func TestRestrictions(t *testing.T) {
	none := &Uses{Tools: []string{}}
	for head, want := range map[string]*Uses{
		"":                               nil,
		"allowed-tools: '*'":             nil,
		"allowed-tools: Read, Task":      {Tools: []string{"Read", "Agent"}},
		"allowed-tools: Read Grep":       {Tools: []string{"Read", "Grep"}},
		"allowed-tools: [Read, Grep]":    {Tools: []string{"Read", "Grep"}},
		"allowed-tools:\n- Read\n- Grep": {Tools: []string{"Read", "Grep"}},
		"allowed-tools: Bash(git log:*), Bash(a, b)": {Tools: []string{"Bash(git log:*)", "Bash(a, b)"}},
		"allowed-tools:":                     none,
		"allowed-tools: []":                  none,
		"allowed-tools: {a: b}":              none,
		"allowed-tools: 'Read; Grep'":        none,
		"allowed-tools: Bash(git":            none,
		"allowed-toolz: Read":                none,
		"<<: {a: b}":                         none,
		"x: a: b\n  allowed-tools: Read":     none,
		"allowed-tools: Read\ntools: Grep":   none,
		"allowed-tools: mcp__a__b":           {Tools: []string{"mcp__a__b"}},
		"disallowed-tools: Edit":             {Without: []string{"Edit"}},
		"disallowed-tools: {a: b}":           none,
		"allowed_tools: Read, Grep, Read\n ": {Tools: []string{"Read", "Grep", "Read"}},
	} {
		k := one(t, "---\ndescription: d\n"+head+"\n---\nBody")
		if diff := cmp.Diff(want, k.Uses); diff != "" {
			t.Errorf("%q: %s", head, diff)
		}
	}
	for head, off := range map[string]bool{"disable-model-invocation: true": true,
		"disable-model-invocation: yes": true,
		"disable-model-invocation: [x]": true, "disable-model-invocation: false": false,
		"disable-model-invocatoin: x": true} {
		if k := one(t, "---\ndescription: d\n"+head+"\n---\nBody"); k.ModelOff != off {
			t.Errorf("%q: %v", head, k.ModelOff)
		}
	}
}

func TestPieces(t *testing.T) {
	for _, c := range []struct {
		body, args string
		want       []Piece
	}{
		{"Fix $ARGUMENTS now", "the bug", []Piece{{Text: "Fix the bug now"}}},
		{"Fix $1 in $2: $3.", `"the bug" b.go`, []Piece{{Text: "Fix the bug in b.go: ."}}},
		{"$ARGUMENTS[0] $ARGUMENTS[1] $100", "a b", []Piece{{Text: "a b $100"}}},
		{"No place", "a b", []Piece{{Text: "No place\n\nARGUMENTS: a b"}}},
		{"Log: !`git log $1`\nend", "-3", []Piece{{Text: "Log: "}, {Text: "!`git log -3`", Run: "git log -3"},
			{Text: "\nend"}}},
		{"wow!`no`", "", []Piece{{Text: "wow!`no`"}}},
		{"```!\nmake\nls\n```\n", "", []Piece{{Text: "```!\nmake\nls\n```", Run: "make\nls"}, {Text: "\n"}}},
		{"See @docs/a.md, and a@b.c", "", []Piece{{Text: "See "}, {Text: "@docs/a.md", File: "docs/a.md"},
			{Text: ", and a@b.c"}}},
		{"See @$1.", "x.go", []Piece{{Text: "See "}, {Text: "@x.go", File: "x.go"}, {Text: "."}}},
		// What arguments say is words.
		{"Do $ARGUMENTS", "!`rm -rf /` @/etc/passwd", []Piece{{Text: "Do !`rm -rf /` @/etc/passwd"}}},
		{"Do", "!`rm` @x", []Piece{{Text: "Do\n\nARGUMENTS: !`rm` @x"}}},
	} {
		got := Skill{Body: c.body}.Pieces(c.args)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.body, diff)
		}
	}
	k := Skill{Body: "Run ${CLAUDE_SKILL_DIR}/a.sh on $issue", Folder: "/s", Arguments: []string{"issue"}}
	if got, _ := k.Text("7"); got != "Run /s/a.sh on 7" {
		t.Error(got)
	}
}
