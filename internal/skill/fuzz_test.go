package skill

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/front"
)

// FuzzSkill: whatever stands in a SKILL.md, it is a skill that can be named and listed, or there is a reason; and a
// line that names tools is never lost.
func FuzzSkill(f *testing.F) {
	for _, s := range []string{"---\nname: a\ndescription: b: c\nallowed-tools: [Read]\n---\nBody", "---\nname: x\n",
		"---\nallowed-tools:\n - Read\n---\n!`ls $1` @a $ARGUMENTS", "---\ntools: *\n---\nx", "---\n<<: x\n---\nx", "x",
		"\ufeff---\r\nallowed-tools: Read\r\n---\r\ny", "---\ndisable-model-invocation: yes\n---\nx"} {
		f.Add([]byte(s), "a b")
	}
	f.Fuzz(func(t *testing.T, data []byte, args string) {
		dir := t.TempDir()
		file := filepath.Join(dir, "thing", "SKILL.md")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		set, problems := Load(Sources{Tools: known(), Folders: []Folder{Of(dir, "", front.ScopeUser, false)}})
		if len(set.skills)+len(set.broken) != 1 || len(set.broken) == 1 && len(problems) == 0 {
			t.Fatalf("%d skills, %d broken: %v", len(set.skills), len(set.broken), problems)
		}
		doc, err := front.Parse(data, KeyInUse)
		for _, k := range set.List() {
			if badNames(k.Name) != "" || k.Body == "" || err != nil {
				t.Errorf("%+v", k)
			}
			for _, field := range doc.Fields {
				words := strings.Join(append(slices.Clone(field.Value.List), field.Value.Text), " ")
				if canonicalKey(field.Key) == keyTools && k.Uses == nil && !strings.Contains(words, "*") {
					t.Errorf("its line about tools is lost: %q", data)
				}
			}
			if text := set.Describe(nil, 1000); strings.Count(text, "\n") > 2 {
				t.Errorf("it forges a line: %q", text)
			}
			expanded(t, k, args)
		}
	})
}

// FuzzPieces: the arguments of a command make neither a command nor a file of their own.
func FuzzPieces(f *testing.F) {
	f.Add("Do $1 !`git log $ARGUMENTS` @$2 ```!\nls\n```", "a !`rm` @x")
	f.Add("$ARGUMENTS", "!`rm`")
	f.Add("!`$1`", "")
	f.Fuzz(func(t *testing.T, body, args string) { expanded(t, Skill{Body: body, Folder: "/s"}, args) })
}

func expanded(t *testing.T, k Skill, args string) {
	t.Helper()
	count := func(pieces []Piece) (runs, files int) {
		for _, p := range pieces {
			if p.Run != "" {
				runs++
			}
			if p.File != "" {
				files++
			}
		}
		return runs, files
	}
	// What trust shows is what runs.
	var run []string
	for _, p := range k.Pieces("") {
		if p.Run != "" {
			run = append(run, p.Run)
		}
	}
	if shown, _ := Commands(k.Body); !strings.Contains(k.Body, "$") && !slices.Equal(run, shown) {
		t.Errorf("%q: runs %q, and %q is shown", k.Body, run, shown)
	}
	// Arguments may leave a command or a file empty, and so without a place; they add none.
	runs, files := count(k.Pieces(args))
	mostRuns, mostFiles := count(k.Pieces("x x x x x x x x x"))
	if runs > mostRuns || files > mostFiles {
		t.Errorf("%q with %q: %d commands and %d files, not %d and %d", k.Body, args, runs, files, mostRuns, mostFiles)
	}
}
