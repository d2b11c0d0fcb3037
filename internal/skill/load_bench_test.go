package skill

import (
	"fmt"
	"testing"

	"github.com/troupe-dev/troupe/internal/front"
)

func BenchmarkLoad300(b *testing.B) {
	dir := b.TempDir()
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("s%d/SKILL.md", i)] = fmt.Sprintf("---\nname: s%d\ndescription: Does the thing number %d, "+
			"with "+
			"more words than are needed to fill the line.\n---\nBody %d\n", i, i, i)
	}
	write(b, dir, files)
	src := Sources{Tools: known(), Folders: []Folder{Of(dir, "", front.ScopeUser, false)}}
	for b.Loop() {
		if set, _ := Load(src); len(set.skills) != 300 {
			b.Fatal(len(set.skills))
		}
	}
}
