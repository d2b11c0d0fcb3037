//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestChanged: what a watched command has changed in the end is told, by whatever call it did that, and nothing else.
func TestChanged(t *testing.T) {
	t.Parallel()
	r := guarded(t, Options{})
	if !r.box.Support(t.Context()).Notify {
		t.Skip("nothing watches calls here")
	}
	r.file("a", "a\n")
	r.file("b", "b\n")
	r.file("dir/c", "c\n")
	for command, want := range map[string]string{
		"echo x > a":                                  "a",
		"echo x > a; echo a > a":                      "a",
		": >> a; cat a b":                             "",
		"echo x > new":                                "+new",
		"echo x > new2; rm new2":                      "",
		"sed -i s/b/x/ b":                             "b",
		"mv b moved && mv moved b":                    "b", // whoever sets times back is told as well
		"ln a link; ln -s a soft":                     "+link +soft",
		"truncate -s 0 dir/c":                         "dir/c",
		"mkdir -p x/y; echo z > x/y/z":                "+x/y/z",
		"mv dir other":                                "-dir +other",
		"rm tracked; git add -A":                      "-tracked",
		"echo x > $TMPDIR/t; git status":              "",
		"echo x > .claude/settings.json":              "",
		"cp -p a copy; chmod 600 a":                   "+copy",
		"python3 -c 'open(\"p\",\"w\").write(\"x\")'": "+p",
	} {
		out, _, w := r.run(command)
		var got []string
		for _, c := range w.Changed {
			mark := ""
			if c.New {
				mark = "+"
			} else if c.Gone {
				mark = "-"
			}
			got = append(got, mark+strings.TrimPrefix(c.Path, r.ws+"/"))
		}
		if w.Blind || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s\n%s", command, got, want, out)
		}
		r.plain("git reset -q --hard; git clean -qfdx -e .claude -e linked; rm -rf new other link soft; mkdir -p dir;" +
			"echo a > a; echo b > b; echo c > dir/c")
	}
	_, _, w := r.run(fmt.Sprintf("for i in $(seq %d); do : > f$i; done", troupe.MostChanged+7))
	if len(w.Changed) != troupe.MostChanged || w.MoreChanged != 7 || !slices.IsSortedFunc(w.Changed,
		func(a, b troupe.FileChanged) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("%d files, and %d more", len(w.Changed), w.MoreChanged)
	}
}
