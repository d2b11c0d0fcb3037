package front

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Signature changes whenever a file of the sources may have: it is made of their names, sizes, times and numbers, and
// of what links lead to. Nothing is read. Two that are the same say that nothing has to be read again.
func Signature(sources []Source) string {
	var text []byte
	add := func(name string, info fs.FileInfo) {
		text = append(append(text, name...), 0)
		for _, n := range append([]int64{info.Size(), int64(info.Mode()), info.ModTime().UnixNano()},
			numbers(info)...) {
			text = binary.LittleEndian.AppendUint64(text, uint64(n))
		}
	}
	for _, s := range sources {
		text = append(append(text, s.Path...), 0)
		signFolder(s.Path, 0, add)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// signFolder adds a folder and what is below it, as deep as files are read.
func signFolder(dir string, depth int, add func(string, fs.FileInfo)) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return
	}
	add(dir, info)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // the folder's own times say when that changes
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir() && depth < maxFolders:
			signFolder(path, depth+1, add)
		case e.IsDir():
		default:
			if info, err := os.Stat(path); err == nil { // of what a link leads to
				add(path, info)
			}
		}
	}
}
