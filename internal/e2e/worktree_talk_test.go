//go:build unix

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/cli/chat/ptytest"
)

// TestWorktreeConversation: a conversation in a worktree says so, shows and merges its work by the same verbs as the
// commands, and says at its end what is left to do.
func TestWorktreeConversation(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	p := newPlace(t)
	p.write("a.txt", "first\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main", "."}, {"config", "user.email", "a@b"},
		{"config", "user.name", "A"}, {"add", "a.txt"}, {"commit", "-qm", "first"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = p.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	p.write("../s.yaml", "replies:\n  - turn: 1\n    calls: [{tool: Write, input: {file_path: new.txt, content: "+
		"\"made\\n\"}}]\n  - {text: written}\n")
	term, end := p.talk(60, "--model", "script:../s.yaml", "--worktree=mine", "--permission-mode", "acceptEdits")
	says(term, "worktree mine")
	term.Keys("go\r")
	says(term, "Works in worktree mine (branch troupe/mine)")
	says(term, "written")
	shows(term, "\n>")
	term.Keys("/diff\r")
	says(term, "+made")
	term.Keys("/worktrees\r")
	says(term, "unmerged: 1 file +1 -0")
	term.Keys("/merge mi\t\r")
	says(term, "Merged 1 file of mine, +1 -0. Nothing is committed; see git status.")
	term.Keys("/diff none\r")
	says(term, "none")
	term.Keys("/merge --dry-run\r")
	says(term, "There is nothing to merge: all of mine is there.")
	end()
	if got, err := os.ReadFile(filepath.Join(p.dir, "new.txt")); string(got) != "made\n" {
		t.Errorf("new.txt holds %q, %v", got, err)
	}
	term, end = p.talk(100, "--model", "script:../s.yaml", "--continue")
	says(term, "Works in worktree mine (branch troupe/mine)")
	end()

	// An agent's work is merged by the number that stands beside its name, and a conflict handed back to it.
	p.write("../h.yaml", "replies:\n  - agent: main\n    turn: 1\n    calls: [{tool: Agent, input: {description: "+
		"Change, "+
		"prompt: do it, isolation: worktree, name: fixer}}]\n  - {agent: main, turn: 2, text: it has changed a line}\n"+
		"  - {agent: main, text: it has put both together}\n"+
		"  - {name: fixer, turn: 1, calls: [{tool: Bash, input: {command: echo theirs > a.txt}}]}\n"+
		"  - {name: fixer, turn: 3, calls: [{tool: Bash, input: {command: echo both > a.txt}}]}\n"+
		"  - {name: fixer, text: changed}\n")
	term, end = p.talk(100, "--model", "script:../h.yaml", "--allowed-tools", "Bash(*)")
	shows(term, "\n>") // what is typed before is the terminal's, which makes another key of Enter
	term.Keys("go\r")
	says(term, "it has changed a line")
	shows(term, "\n>")
	p.write("a.txt", "mine\n")
	term.Keys("/merge #1\r")
	says(term, "Nothing was written: 1 file has conflicts.")
	term.Keys("/merge #1 --hand-back\r")
	says(term, "marked a.txt")
	says(term, "it has put both together")
	shows(term, "\n>")
	term.Keys("/merge #1\r")
	says(term, "Merged 1 file of fixer-")
	end()
	if got, err := os.ReadFile(filepath.Join(p.dir, "a.txt")); string(got) != "both\n" {
		t.Errorf("a.txt holds %q, %v", got, err)
	}
}

// says waits for words on the screen, however they are broken into rows.
func says(term *ptytest.Terminal, words string) {
	term.Until(words, func(s string) bool {
		return strings.Contains(strings.Join(strings.Fields(s), " "), words)
	})
}
