package shell

import "testing"

// Commands that change one repository share its turns; what only looks waits for nobody.
func TestRepositories(t *testing.T) {
	t.Parallel()
	var r repositories
	dir := t.TempDir()
	first := r.of("git commit -m x", dir)
	for _, command := range []string{
		"git add .", "cd sub && git -C x -c a=b commit -qam 'y'", "make && git commit", "(git stash)",
		"true\ngit add x",
	} {
		if r.of(command, dir) != first || first == nil {
			t.Errorf("%q does not wait for others", command)
		}
	}
	for _, command := range []string{
		"git status", "git log --oneline", "git diff; echo commit", "legit add x", "gh pr merge",
	} {
		if r.of(command, dir) != nil {
			t.Errorf("%q waits for others", command)
		}
	}
	if r.of("git add .", t.TempDir()) == first {
		t.Error("two repositories share their turns")
	}
}
