package run

import (
	"slices"
	"testing"
)

// TestNameOfWorktree: of two words behind --worktree the one without blanks is its name; what could be either is not
// guessed.
func TestNameOfWorktree(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args  []string
		print bool
		rest  []string
		name  string
	}{
		{args: nil},
		{args: []string{"fixer"}, rest: []string{}, name: "fixer"},
		{args: []string{"fixer"}, print: true, rest: []string{"fixer"}},
		{args: []string{"fix the login"}, rest: []string{"fix the login"}},
		{args: []string{"fixer", "fix the login"}, rest: []string{"fix the login"}, name: "fixer"},
		{args: []string{"fix the login", "fixer"}, print: true, rest: []string{"fix the login"}, name: "fixer"},
		{args: []string{"fix the login", "and more"}, rest: []string{"fix the login", "and more"}},
		{args: []string{"fix", "the", "login"}, rest: []string{"fix", "the", "login"}},
	} {
		f := flags{worktree: anyWorktree, print: tt.print}
		if rest, name := f.named(tt.args); !slices.Equal(rest, tt.rest) || name != tt.name {
			t.Errorf("%q: %q, %q", tt.args, rest, name)
		}
		f.worktree = "given"
		if rest, name := f.named(tt.args); !slices.Equal(rest, tt.args) || name != "" {
			t.Errorf("%q beside a name: %q, %q", tt.args, rest, name)
		}
	}
}
