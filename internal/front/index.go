package front

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// Index is where what was made of files is kept for the next process, so that it need not read and parse them again:
// for each folder its names, for each file the document, with the stamps that they had. What has another stamp by then
// is read; so is a file of a project, always, and one whose stamp may not tell of the next change. An index stands for
// the files: it must lie where agents cannot write. One that is damaged, of another program or of another user is
// none, and where none can be written there is none; it is never an error.
type Index struct {
	// Folder holds the file of the index, and others; "": there is no index.
	Folder string
	// Kind is what the files are, for the same keys have a meaning in all of them; each kind has files of its own.
	Kind string
}

const (
	// maxIndex is more than all that is read of sources.
	maxIndex = 32 << 20
	// maxIndexes bounds the files in the folder of an index: there is one for each set of sources.
	maxIndexes = 40
	// settled is for how long a file must not have changed for its stamp to tell of the next change: the clocks of file
	// systems go in steps.
	settled = 2 * time.Second
)

// indexing is one reading of sources with an index.
type indexing struct {
	Index

	file    string
	sources string // which they are
	reader  string
	before  time.Time // what has changed since is not kept
	had     []section // of the sources, as they were found
	now     []section // as they are to be written
	changed bool
	steady  map[int64]bool // devices whose files hold still
}

// section is what is known of one source.
type section struct {
	folders map[string]listing
	files   map[string]*made
}

// listing is a folder.
type listing struct {
	stamp
	names []named
}

// named is a name in a folder.
type named struct {
	name      string
	dir, link bool
}

// made is what was made of a file.
type made struct {
	stamp
	seen bool   // the file was looked at, and is as it was
	size int    // of what was read
	code string // what Parse returned, as it is stored
	doc  Document
	err  *Problem
}

// Use has the reader go by an index, for these sources in their order. Save writes it.
func (r *Reader) Use(x Index, sources []Source) {
	who, ok := reader()
	if x.Folder == "" || !ok {
		return
	}
	var which strings.Builder
	for _, s := range sources {
		fmt.Fprintf(&which, "%q %q %q %q %q %q\n", s.Path, s.Root, s.Scope, s.Each, s.Only, s.Plugin)
	}
	in := &indexing{Index: x, sources: which.String(), reader: who, before: time.Now().Add(-settled),
		now: make([]section, len(sources)), steady: map[int64]bool{}}
	in.file = filepath.Join(x.Folder, x.Kind+"-"+shortHash(in.sources))
	in.had = in.load(len(sources))
	for i := range in.now {
		in.now[i] = section{folders: map[string]listing{}, files: map[string]*made{}}
	}
	r.index, r.next = in, 0
}

// load reads the sections of so many sources; there are none if the file is not this program's, or not whole.
func (x *indexing) load(n int) []section {
	none := make([]section, n)
	f, err := os.OpenFile(x.file, disk.Flags, 0)
	if err != nil {
		return none
	}
	defer f.Close() //nolint:errcheck // only read from
	info, err := f.Stat()
	if err != nil || !own(info) || info.Size() > maxIndex {
		return none
	}
	if out, ok := decodeIndex(f, int(info.Size()), x.reader, x.sources); ok && len(out) == n {
		return out
	}
	return none
}

// Save writes the index, if something in it is new.
func (r *Reader) Save() {
	x := r.index
	if x == nil || !x.changed {
		return
	}
	data := encodeIndex(x.reader, x.sources, x.now)
	if len(data) > maxIndex || x.write(data) != nil {
		return // the next process reads all files too
	}
	x.changed = false
	disk.Tidy(x.Folder, maxIndexes)
}

func (x *indexing) write(data []byte) error {
	if err := os.Mkdir(x.Folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err // what only asks makes no home
	}
	return disk.Cache(x.file, data)
}

// of is what is to be read of the next source by the index; nil: nothing. A project's files are always read: what of
// them counts is settled by their bytes.
func (x *indexing) of(i int, s Source) *sourceIndex {
	if x == nil || i >= len(x.now) || s.Scope == ScopeProject {
		return nil
	}
	if s.Root != "" { // no link may lead out
		root, err := filepath.EvalSymlinks(s.Root)
		if err != nil {
			return nil
		}
		if base, err := filepath.EvalSymlinks(s.Path); err != nil || !troupe.Within(base, root) {
			return nil
		}
	}
	return &sourceIndex{indexing: x, had: x.had[i], now: x.now[i], in: placeAt(s.Path), rooted: s.Root != ""}
}

// sourceIndex is the part of an index that one source has.
type sourceIndex struct {
	*indexing

	had, now section
	in       place // whose files these are; open while they are looked at
	rooted   bool
}

// keeps reports whether what has this stamp may be kept: its next change would give it another one.
func (x *sourceIndex) keeps(path string, s stamp) bool {
	if s[stampChanged] >= x.before.UnixNano() {
		return false
	}
	dev := s[0]
	steady, known := x.steady[dev]
	if !known {
		steady = holdsStill(path)
		x.steady[dev] = steady
	}
	return steady
}

// list is a folder as it was, if it has not changed.
func (x *sourceIndex) list(path string) ([]named, bool) {
	if x == nil {
		return nil, false
	}
	had, ok := x.had.folders[path]
	if !ok {
		return nil, false
	}
	if at, ok := x.in.stamp(path); !ok || at != had.stamp {
		return nil, false
	}
	x.now.folders[path] = had
	return had.names, true
}

// has reports whether a folder still has a file that was made something of, by its name alone and by no link: what else
// the folder holds matters no more then.
func (x *sourceIndex) has(dir, name string) bool {
	if x == nil {
		return false
	}
	had, ok := x.had.folders[dir]
	if !ok || !slices.Contains(had.names, named{name: name}) || !x.still(filepath.Join(dir, name)) {
		return false
	}
	x.now.folders[dir] = had
	return true
}

// still reports whether a file is as it was when something was made of it.
func (x *sourceIndex) still(path string) bool {
	m := x.had.files[path]
	if m == nil {
		return false
	}
	if !m.seen {
		at, ok := x.in.stamp(path)
		m.seen = ok && at == m.stamp && at.regular()
	}
	return m.seen
}

// listed keeps a folder that was read.
func (x *sourceIndex) listed(path string, info os.FileInfo, names []named) {
	if x == nil {
		return
	}
	if at, ok := stampOfOpen(info); ok && x.keeps(path, at) {
		x.now.folders[path], x.changed = listing{at, names}, true
	}
}

// get is what was made of a file, if it has not changed. With a root, no link may be in its name.
func (x *sourceIndex) get(path string, link bool) *made {
	if x == nil || link && x.rooted {
		return nil
	}
	if !x.still(path) {
		return nil
	}
	m := x.had.files[path]
	if !m.decode() {
		return nil
	}
	x.now.files[path] = m
	return m
}

// put is where what is made of a file that was read is to be kept; nil: nowhere.
func (x *sourceIndex) put(path string, link bool, info os.FileInfo, size int) *made {
	if x == nil || link && x.rooted || info == nil {
		return nil
	}
	at, ok := stampOfOpen(info)
	if !ok || !x.keeps(path, at) {
		return nil
	}
	return &made{stamp: at, size: size}
}

// problem is what Parse returned.
func (m *made) problem() error {
	if m.err == nil {
		return nil
	}
	return m.err
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
