package front

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkIndex300 reads 300 files as they are, and from an index of them.
func BenchmarkIndex300(b *testing.B) {
	dir := b.TempDir()
	x := &indexed{TB: b, dir: dir, sources: []Source{{Path: filepath.Join(dir, "agents"), Scope: ScopeUser}}}
	for i := range 300 {
		x.write(fmt.Sprintf("agents/a%d.md", i), fmt.Sprintf("---\nname: a%d\ndescription: Does the thing number %d, "+
			"with "+
			"more words than are needed to fill the line.\ntools: Read, Grep\n---\nBody %d\n", i, i, i))
	}
	at := time.Now().Add(time.Hour)
	x.read(true, at)
	for _, index := range []bool{false, true} {
		b.Run(map[bool]string{false: "files", true: "index"}[index], func(b *testing.B) {
			for b.Loop() {
				r := Reader{What: "agents"}
				if index {
					r.Use(Index{Folder: filepath.Join(dir, "index"), Kind: "test"}, x.sources)
				}
				files, _ := r.Files(x.sources[0])
				for i := range files {
					if _, err := files[i].Parse(keysOfTest); err != nil || files[i].known != index {
						b.Fatal(files[i].Path, err)
					}
				}
			}
		})
	}
}
