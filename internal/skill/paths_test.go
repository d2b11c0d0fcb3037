package skill

import (
	"slices"
	"testing"

	"github.com/troupe-dev/troupe/internal/front"
)

// TestPaths: which files a skill is for, by what it says and where it lies.
func TestPaths(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line, file string
		want       bool
	}{
		{"paths: db/**/*.sql", "/p/db/a/b.sql", true}, {"paths: db/**/*.sql", "/p/db/b.sql", true},
		{"paths: db/**/*.sql", "/p/x/db/b.sql", false}, {"paths: db/**/*.sql", "/q/db/b.sql", false},
		{"paths: a.go, *.{ts,tsx}", "/p/b.tsx", true}, {"paths: [a.go, './b.go']", "/p/b.go", true},
		{"paths:\n  - '**/*.md'", "/p/x/y.md", true}, {"paths: /p/a.go", "/p/a.go", false},
		{"paths: {a: b}", "/p/a", false}, {"paths: '['", "/p/[", false},
	} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"s/SKILL.md": "---\ndescription: d\n" + tt.line + "\n---\nx\n"})
		set, problems := Load(Sources{Folders: []Folder{Of(dir, "", front.ScopeUser, false)}})
		k, err := set.Lookup("s")
		if err != nil || k.Paths == nil || k.For(tt.file, "/p") != tt.want || len(set.entries(nil)) != 0 {
			t.Errorf("%s and %s: %v, %v %v", tt.line, tt.file, k.Paths, err, problems)
		}
	}
	k := Skill{Paths: []string{"*.go"}, Origin: Origin{Source: "/p/sub/.claude/skills/s/SKILL.md",
		Scope: front.ScopeProject}}
	got := slices.Collect(func(yield func(bool) bool) {
		for _, file := range []string{"/p/sub/a.go", "/p/a.go", "/p/sub/x/a.go"} {
			yield(k.For(file, "/p"))
		}
	})
	if !slices.Equal(got, []bool{true, false, false}) {
		t.Errorf("below the folder that has it: %v", got)
	}
}
