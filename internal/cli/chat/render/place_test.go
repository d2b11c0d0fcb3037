package render_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat/render"
)

// TestEndOfAFolder: the end of an agent says where its work is, in rows that fit.
func TestEndOfAFolder(t *testing.T) {
	t.Parallel()
	const id, width = troupe.SessionID("f00000000000"), 60
	end := done(1, 10, 20)
	end.Outcome.Workspace = &troupe.WorkspaceResult{Kind: troupe.WorkspaceTree, Name: "fixer-f00000", Base: "1",
		Tip:    "2",
		Branch: "troupe/fixer-f00000", Files: 3, Added: 10, Removed: 2, Conflicts: []string{"a"}, Gone: true}
	v := render.New(root, render.Options{Width: width})
	v.Event(troupe.Event{Root: root, Session: id, Seq: 1, Body: troupe.Created{Name: "fixer", Parent: root, Depth: 1}})
	v.Event(troupe.Event{Root: root, Session: id, Seq: 2, Body: end})
	lines, _ := v.Take()
	text := strings.Join(strings.Fields(ansi.Strip(lines)), " ")
	if want := "worktree fixer-f00000: branch troupe/fixer-f00000, 3 files +10 -2, conflicts in 1 file; /diff " +
		"fixer-f00000, /merge fixer-f00000"; !strings.Contains(text, want) {
		t.Errorf("it says\n%s\nwant\n%s", lines, want)
	}
	for line := range strings.Lines(lines) {
		if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
