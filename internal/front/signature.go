package front

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
)

// Signature changes whenever a file of the sources may have: it is made of their names, sizes, times and numbers, and
// of what links lead to. Nothing is read. Two that are the same say that nothing has to be read again.
func Signature(sources []Source) string {
	var text []byte
	add := func(name string, numbers []int64) {
		text = append(append(text, name...), 0)
		for _, n := range numbers {
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
func signFolder(dir string, depth int, add func(string, []int64)) {
	in := placeAt(dir)
	defer in.close()
	numbers, is, ok := in.sign(dir)
	if !ok || !is {
		return
	}
	add(dir, numbers)
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return // the folder's own times say when that changes
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir() && depth < maxFolders:
			signFolder(path, depth+1, add)
		case e.IsDir():
		default:
			if numbers, _, ok := in.sign(path); ok { // of what a link leads to
				add(path, numbers)
			}
		}
	}
}
