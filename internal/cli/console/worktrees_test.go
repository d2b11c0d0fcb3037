package console

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe/internal/wire"
)

// TestWorktreeHolds: what one holds is said in a few words, and so is why a folder stays.
func TestWorktreeHolds(t *testing.T) {
	t.Parallel()
	sums := wire.WorktreeSums{Commits: 1, Files: 3, Added: 10, Removed: 2}
	conflicts := sums
	conflicts.Conflicts = []string{"a"}
	for want, w := range map[string]wire.Worktree{
		"at work": {State: wire.WorktreeWorking, There: true}, "nothing": {State: wire.WorktreeEmpty},
		"merged":                   {State: wire.WorktreeMerged, WorktreeSums: sums},
		"unmerged: 3 files +10 -2": {State: wire.WorktreeUnmerged, WorktreeSums: sums, There: true, Branch: "b"},
		"unmerged: 3 files +10 -2, conflicts in 1 file; folder gone, kept on b": {State: wire.WorktreeUnmerged,
			WorktreeSums: conflicts, Branch: "b"},
		"unmerged: 2 commits": {State: wire.WorktreeUnmerged, WorktreeSums: wire.WorktreeSums{Commits: 2}},
		"unmerged: 1 commit; whether your files have it is not known: no git": {State: wire.WorktreeUnmerged,
			WorktreeSums: wire.WorktreeSums{Commits: 1}, There: true, Problem: "no git"},
		"merged; folder stays: ignored": {State: wire.WorktreeMerged, There: true, Kept: "ignored"},
		"not known: no git":             {State: wire.WorktreeUnknown, Problem: "no git", There: true, Kept: "x"},
	} {
		if got := WorktreeHolds(w); got != want {
			t.Errorf("it holds %q, want %q", got, want)
		}
	}
	for want, n := range map[string]int64{"0 B": 0, "1023 B": 1023, "1.0 KB": 1024, "10 KB": 10 << 10,
		"1.5 MB": 3 << 19,
		"2.0 TB": 2 << 40} {
		if got := Size(n); got != want {
			t.Errorf("%d bytes are %s, want %s", n, got, want)
		}
	}
	for want, d := range map[string]time.Duration{"0s": -time.Hour, "59s": 59 * time.Second, "1m": time.Minute,
		"23h": 24*time.Hour - 1, "1d": 24 * time.Hour} {
		if got := worktreeAge(d); got != want {
			t.Errorf("%s is %s, want %s", d, got, want)
		}
	}
}

// TestWorktreesFit: the list fits on narrow terminals, and the name and what it holds stay.
func TestWorktreesFit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	list := []wire.Worktree{{Name: "fixer-ab12cd", Agent: "main/fixer", Session: "ab12cd000000", Made: now,
		Branch: "troupe/fixer-ab12cd", Of: "/home/a/project", State: wire.WorktreeUnmerged,
		WorktreeSums: wire.WorktreeSums{Files: 3, Added: 10, Removed: 2}},
		{Name: "bad\x1b[2J", Session: "cd12ab000000", Made: now, State: wire.WorktreeMerged}}
	for _, width := range []int{60, 100} {
		for _, all := range []bool{false, true} {
			var b strings.Builder
			c := &Console{Out: &b, OutTTY: true, Width: width, Now: func() time.Time { return now },
				Lookup: func(string) (string, bool) { return "", false }}
			if err := c.WorktreeList(list, all); err != nil {
				t.Fatal(err)
			}
			out := b.String()
			for line := range strings.Lines(out) {
				if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%d columns of %d: %s", n, width, line)
				}
			}
			words := strings.Join(strings.Fields(out), " ")
			if !strings.Contains(out, "fixer-ab12cd") || !strings.Contains(words, "unmerged: 3 files +10 -2") ||
				!strings.Contains(out, "merged") || strings.Contains(out, "\x1b") {
				t.Errorf("%d columns:\n%s", width, out)
			}
			if width == 100 && !strings.Contains(out, "main/fixer ab12cd000000") {
				t.Errorf("whose it is is not told:\n%s", out)
			}
		}
	}
}

// TestPaintDiff: lines have colours by what they are in a difference, and not by how the text of a file begins.
func TestPaintDiff(t *testing.T) {
	t.Parallel()
	const diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n--- a\n++++ b\n\\ No newline"
	want := "\x1b[1mdiff --git a/x b/x\x1b[0m\n\x1b[1m--- a/x\x1b[0m\n\x1b[1m+++ b/x\x1b[0m\n\x1b[36m@@ -1,2 +1,2 " +
		"@@\x1b[0m\n" +
		" same\n\x1b[31m--- a\x1b[0m\n\x1b[32m++++ b\x1b[0m\n\\ No newline"
	if got := PaintDiff(true, diff); got != want {
		t.Errorf("painted:\n%q\nwant\n%q", got, want)
	}
	if got := PaintDiff(false, diff); got != diff {
		t.Errorf("without colour: %q", got)
	}
	const stat = " a.txt | 2 +-\n"
	if got := PaintDiff(true, stat); got != stat {
		t.Errorf("a stat: %q", got)
	}
}

// TestWriteMerged: what could not be written is said, and nothing of a file's text obeys a terminal.
func TestWriteMerged(t *testing.T) {
	t.Parallel()
	w := wire.Worktree{Name: "fixer", Session: "ab12cd000000", Branch: "troupe/fixer", Dirty: 1}
	lines := strings.Repeat("x\n", hunkLines+2)
	for want, m := range map[string]wire.MergedWorktree{
		"new      a\nIt stopped after 1 file: b was changed.\n": {Folder: "/p", Stopped: "b was changed",
			Files: []wire.MergedFile{{Path: "/p/a", Action: wire.MergeNew}}},
		"Nothing was written: no room.\n":         {Stopped: "no room"},
		"left out h: it is protected\nNothing of": {Folder: "/p", Left: []string{"/p/h: it is protected"}},
		"theirs, of fixer, line 4:\n    \\u{001b}[2J\n": {Folder: "/p",
			Conflicts: []wire.WorktreeConflict{{Path: "/p/a",
				Hunks: []wire.WorktreeHunk{{Theirs: wire.WorktreeLines{First: 4, Text: "\x1b[2J\n"}}}}}},
		"yours, in your folder:\n    x\n": {Conflicts: []wire.WorktreeConflict{{Path: "/p/a",
			Hunks: []wire.WorktreeHunk{
				{Ours: wire.WorktreeLines{Text: lines}}}}}},
		"    … and more\n": {Conflicts: []wire.WorktreeConflict{{Hunks: []wire.WorktreeHunk{
			{Ours: wire.WorktreeLines{Text: lines}}}}}},
		"Nothing was put on the branch there.": {Branch: "there", Conflicts: []wire.WorktreeConflict{{Path: "/p/a",
			Why: "changed here, removed there"}}},
		"commit a first.\n": {Branch: "there", Folder: "/p", Conflicts: []wire.WorktreeConflict{{Path: "/p/a"}}},
		"removed  a  which is in no commit of yours\n": {Folder: "/p",
			Files: []wire.MergedFile{{Path: "/p/a", Action: wire.MergeRemoved, Uncommitted: true}}},
		"new      a  which was deleted here\n": {Folder: "/p",
			Files: []wire.MergedFile{{Path: "/p/a", Action: wire.MergeNew, Over: new("")}}},
		"git merge troupe/fixer\n": {Conflicts: []wire.WorktreeConflict{{Path: "/p/a"}}},
	} {
		var b strings.Builder
		m.Worktree = w
		c := &Console{Out: &b, Lookup: func(string) (string, bool) { return "", false }}
		if err := c.Merged(m); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("it says\n%s\nwant %q, %v", b.String(), want, err)
		}
	}
}
