package app

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/hook"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestStatusLines: a status line that does not count displaces none: that of the user is shown, with its own padding,
// until the project is trusted. Then the project's is, and the user's says which.
func TestStatusLines(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, ".git/HEAD"), "ref: refs/heads/main\n")
	writeFile(t, filepath.Join(home, "settings.json"), `{"statusLine": {"type": "command", "command": "echo mine",
		"padding": 3}}`)
	project := filepath.Join(dir, ".claude/settings.json")
	writeFile(t, project, `{"statusLine": {"type": "command", "command": "echo theirs", "padding": 7}}`)
	a := openHome(t, home)
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	p, err := a.policyOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		trusted   bool
		run       string
		padding   int
		off, mine string // why the project's and the user's are not shown
	}{
		{false, "echo mine", 3, "the folder is not trusted", ""},
		{true, "echo theirs", 7, "", "the status line of " + project + " is shown"},
	} {
		p.trust.Trusted = tt.trusted
		set, padding, problems := p.statusLines(dir)
		lines := thatCount(set)
		if len(set) != 2 || len(lines) != 1 || lines[0].Run != tt.run || padding != tt.padding || len(problems) > 0 {
			t.Fatalf("trusted %v: %+v count of %+v, with the padding %d: %v", tt.trusted, lines, set, padding, problems)
		}
		if set[0].off != tt.mine || set[1].off != tt.off {
			t.Errorf("trusted %v: the user's is off for %q, the project's for %q", tt.trusted, set[0].off, set[1].off)
		}
	}
}

// TestLastReply: of a long log it is the later of two replies, whatever has come after it; before one there is none.
func TestLastReply(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	root := p.cast[p.root]
	last := func() *troupe.Replied {
		t.Helper()
		r, err := p.a.trees.lastReply(t.Context(), root.s)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	fill := func(upTo int64) {
		var words []troupe.Body
		for range upTo - root.s.Seq {
			words = append(words, troupe.MailDelivered{Mail: []troupe.Mail{{Kind: troupe.MailPrompt,
				Blocks: []troupe.Block{troupe.Text("more")}}}})
		}
		p.log(p.root, words...)
	}
	if r := last(); r != nil {
		t.Errorf("before the first reply the last one is %+v", r)
	}
	for reply, upTo := range []int64{150, 250} { // both are among the events that are read at the end
		fill(upTo)
		p.turn(p.root)
		if r := last(); r == nil || r.Reply != reply+1 {
			t.Errorf("after reply %d the last one is %+v", reply+1, r)
		}
	}
	fill(300)
	if r := last(); r == nil || r.Reply != 2 {
		t.Errorf("of %d events with two replies the last reply is %+v", root.s.Seq, r)
	}
}

// TestStatusMoment: what a conversation has cost is what all of its agents have; of a window no more than all is used.
func TestStatusMoment(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	writeFile(t, filepath.Join(home, "models.yaml"), "providers: {local: {models: {m: {window: 1000}}}}\n")
	a, now := playHouse(t, home)
	p := newPlay(t, a, now, t.TempDir())
	p.begin("r00t00000000", "go")
	p.turn(p.root)
	child := p.child(p.root, "Look", true)
	for id, cost := range map[troupe.SessionID]troupe.Money{p.root: 2 * troupe.Dollar, child: 3 * troupe.Dollar} {
		tally := troupe.Tally{Cost: cost}
		p.cast[id].s.Tally, p.cast[id].s.Model = tally, "local/m"
		p.update(func(tx store.Tx) error { return tx.AddTree(p.root, troupe.TreeDelta{Tally: tally}) })
	}
	of, err := a.policyOf(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		usage           troupe.Usage
		used, remaining int64
	}{
		{troupe.Usage{Input: 100, CacheRead: 90, CacheWrite: 60, Output: 900}, 25, 75},
		{troupe.Usage{Input: 500, CacheRead: 500}, 100, 0},
		{troupe.Usage{Input: 500, CacheRead: 600, CacheWrite: 400}, 100, 0},
	} {
		p.log(p.root, troupe.Replied{Reply: 2, Usage: tt.usage})
		tree, err := a.tree(t.Context(), p.root)
		if err != nil {
			t.Fatal(err)
		}
		m, err := setup{bound{a, troupe.You(troupe.SurfaceCommand)}}.statusMoment(t.Context(),
			wire.StatusQuery{Cwd: p.dir, Root: p.root}, of, tree)
		if err != nil {
			t.Fatal(err)
		}
		cost, told := m.Fields["cost"].(map[string]any)
		if !told || cost["total_cost_usd"] != 5.0 {
			t.Errorf("a tree that has cost $5 is told as %v", cost)
		}
		window, told := m.Fields["context_window"].(map[string]any)
		if !told || window["used_percentage"] != tt.used || window["remaining_percentage"] != tt.remaining {
			t.Errorf("%+v of 1000 tokens are told as %v", tt.usage, window)
		}
	}
}

// TestFirstStatusLine: the files of a status line count as they were when it was first run in that very folder; those
// of a project's line as a person has trusted them since.
func TestFirstStatusLine(t *testing.T) {
	t.Parallel()
	var s statusLines
	defer func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	line := func(file, hash string) hook.Hook {
		return hook.Hook{Run: "sh line.sh", Origin: hook.Origin{Source: "/home/you/settings.json"},
			Files: map[string]string{file: hash}}
	}
	for _, x := range []struct{ folder, as, hash, want string }{
		{"/a", "", "1", "1"}, {"/b", "", "2", "2"}, {"/a", "", "3", "1"}, {"/b", "", "4", "2"},
		{"/c", "x", "1", "1"}, {"/c", "x", "2", "1"}, {"/c", "y", "2", "2"}, {"/c", "y", "3", "2"},
	} {
		file := x.folder + "/line.sh"
		h, sh := s.first(line(file, x.hash), x.folder, x.as)
		if want := map[string]string{file: x.want}; sh == nil || !maps.Equal(h.Files, want) {
			t.Errorf("in %s, trusted as %q, it is run with %v instead of %v", x.folder, x.as, h.Files, want)
		}
	}
}

// TestStatusLineOfAnotherFolder: a conversation that is looked at from another folder than its own has the status line
// of its own one. What the other is trusted with runs nothing of it, and what is not as it was there does not run.
func TestStatusLineOfAnotherFolder(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	a, now := playHouse(t, home)
	p := newPlay(t, a, now, t.TempDir())
	p.begin("r00t00000000", "go")
	here, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(here, ".git/HEAD"), "ref: refs/heads/main\n")
	writeFile(t, filepath.Join(here, ".claude/settings.json"),
		`{"outputStyle": "x", "statusLine": {"type": "command", "command": "sh line.sh"}}`)
	writeFile(t, filepath.Join(here, "line.sh"), "echo here")
	theirs := filepath.Join(p.dir, "line.sh")
	writeFile(t, theirs, "echo there; echo $CLAUDE_PROJECT_DIR; cat")
	trustHere(t, a, here)
	line := func(root troupe.SessionID) wire.StatusLine {
		t.Helper()
		l, err := you(a).Setup().StatusLine(t.Context(), wire.StatusQuery{Cwd: here, Root: root})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if l := line(""); l.Text != "here\n" || l.Failed != "" {
		t.Errorf("the status line of a trusted folder is %+v", l)
	}
	if l := line(p.root); l != (wire.StatusLine{}) {
		t.Errorf("in a folder without one the status line is %+v", l)
	}
	writeFile(t, filepath.Join(home, "settings.json"),
		`{"statusLine": {"type": "command", "command": "sh line.sh"}}`)
	l := line(p.root)
	for _, want := range []string{"there\n" + p.dir + "\n", `"project_dir":"` + p.dir + `"`,
		`"output_style":{"name":"default"}`} {
		if !strings.Contains(l.Text, want) {
			t.Errorf("%q is not in what the line of the person's own says there: %+v", want, l)
		}
	}
	writeFile(t, theirs, "echo an agent has written this")
	if l := line(p.root); l.Text != "" || !strings.Contains(l.Failed, "start Troupe again") {
		t.Errorf("a script that has changed says %+v", l)
	}
}

// TestStatusLineTrustedAgain: a script that a person has changed and trusted runs as it is then.
func TestStatusLineTrustedAgain(t *testing.T) {
	t.Parallel()
	a, _ := playHouse(t, t.TempDir())
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, ".git/HEAD"), "ref: refs/heads/main\n")
	writeFile(t, filepath.Join(dir, ".claude/settings.json"),
		`{"statusLine": {"type": "command", "command": "sh line.sh"}}`)
	for _, tt := range []struct {
		says  string
		trust bool
		want  string
	}{{"one", true, "one\n"}, {"two", false, ""}, {"two", true, "two\n"}} {
		writeFile(t, filepath.Join(dir, "line.sh"), "echo "+tt.says)
		if tt.trust {
			trustHere(t, a, dir)
		}
		l, err := you(a).Setup().StatusLine(t.Context(), wire.StatusQuery{Cwd: dir})
		if err != nil || l.Text != tt.want || l.Failed != "" {
			t.Errorf("%s, trusted %v: %+v, %v", tt.says, tt.trust, l, err)
		}
	}
}

// trustHere trusts what is in a folder.
func trustHere(t *testing.T, a *App, dir string) {
	t.Helper()
	if _, err := readPolicy(a, dir, true); err != nil {
		t.Fatal(err)
	}
}
