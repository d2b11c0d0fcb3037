package worktree

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

const (
	// spare is how much of the disk of a workspace's folder is to be free behind its making.
	spare = 64 << 20
	// little is the same of a disk that gets what is not committed and some notes.
	little = 4 << 20
	// ample is how much more than its files need is room for whatever is not committed: that is not looked for then
	// before the workspace is made.
	ample = 2 << 30
)

// want is how much is going to be written below a folder.
type want struct {
	at    string
	bytes int64
}

// wantsOf is what a worktree takes: some files, and what is not committed as files too, in the keeper, and in the
// caller's repository.
func wantsOf(k *Keeper, files, fresh int64, common string) []want {
	return []want{{k.folders, files + fresh + spare}, {k.data, fresh + little}, {common, fresh + little}}
}

// indexed is what the files of a repository's index take on a disk. Without one a full disk is an error of its own.
func indexed(c *caller) int64 {
	data, err := disk.Read(filepath.Join(c.dir, "index"), 4<<30)
	if err != nil {
		return 0
	}
	return indexBytes(data, map[string]int{"sha1": 20, "sha256": 32}[c.format])
}

// planned is what a worktree of a repository takes. Where there is room for whatever is not committed that is not
// looked for.
func planned(ctx context.Context, k *Keeper, c *caller) ([]want, error) {
	files := indexed(c)
	if lacking(k, wantsOf(k, files, ample, c.common)) == nil {
		return wantsOf(k, files, 0, c.common), nil
	}
	s, err := c.scan(ctx, c.top)
	if err != nil {
		return nil, err
	}
	leave(k, c.top, &s, nil)
	return counted(ctx, k, c.repo, c, s)
}

// counted is what a worktree takes with what a scan found.
func counted(ctx context.Context, k *Keeper, r repo, c *caller, s scan) ([]want, error) {
	more, err := included(ctx, r, c.top)
	return wantsOf(k, indexed(c)+bytesOf(c.top, more), bytesOf(c.top, s.here), c.common), err
}

// block is what files are rounded up to.
const block = 4096

// bytesOf is what some files of a folder take on a disk.
func bytesOf(folder string, names []string) (all int64) {
	for _, name := range names {
		if info, err := lookAt(folder, name); err == nil && info.Mode().IsRegular() {
			all += (info.Size() + block - 1) / block * block
		}
	}
	return all
}

// lack is a disk without room.
type lack struct {
	want

	has int64
}

// lacking finds a disk that has no room for all that is wanted of it; nil if none is known to.
func lacking(k *Keeper, wants []want) *lack {
	var disks []uint64
	var sums []want
	for _, w := range wants {
		for _, err := os.Stat(w.at); err != nil && w.at != filepath.Dir(w.at); _, err = os.Stat(w.at) {
			w.at = filepath.Dir(w.at)
		}
		disk := diskOf(w.at)
		if i := slices.Index(disks, disk); i >= 0 {
			sums[i].bytes += w.bytes
			continue
		}
		disks, sums = append(disks, disk), append(sums, w)
	}
	for _, w := range sums {
		if has, known := k.free(w.at); known && has < w.bytes {
			return &lack{w, has}
		}
	}
	return nil
}

// roomFor refuses to begin what a disk has no room for.
func (p place) roomFor(wants ...want) error {
	l := lacking(p.k, wants)
	if l == nil {
		return nil
	}
	return &troupe.UserError{Problem: fmt.Sprintf("there is no room for the workspace %s: it needs about %s, and %s "+
		"has %s", p.ws.Name, megabytes(l.bytes), l.at, megabytes(l.has)),
		Hint: fmt.Sprintf("make room for %s there; “troupe worktrees prune” removes what is merged",
			megabytes(l.bytes-l.has))}
}

// full adds to an error that the disk has no room, if that is so.
func (p place) full(err error) error {
	if have, known := p.k.free(filepath.Dir(p.making)); known && have < 1<<20 {
		return &troupe.UserError{Problem: fmt.Sprintf("the disk of %s is full: %v", p.k.folders, err),
			Hint: "make room there; nothing is lost, and the workspace is made when its agent goes on", Err: err}
	}
	return err
}

func megabytes(n int64) string { return fmt.Sprintf("%d MB", (n+1<<20-1)>>20) }

// indexBytes adds up how large the files of an index are on a disk; what is not understood counts nothing.
func indexBytes(data []byte, hash int) int64 {
	if len(data) < 12 || string(data[:4]) != "DIRC" {
		return 0
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	var total int64
	at := 12
	for range count {
		head := 40 + hash + 2
		if at+head > len(data) {
			break
		}
		total += (int64(binary.BigEndian.Uint32(data[at+36:])) + block - 1) / block * block
		if version >= 3 && data[at+head-2]&0x40 != 0 {
			head += 2
		}
		start := at + head
		if version == 4 {
			for start < len(data) && data[start]&0x80 != 0 { // how much of the name before is its beginning
				start++
			}
			start++
		}
		if start > len(data) {
			break
		}
		end := slices.Index(data[start:], 0)
		if end < 0 {
			break
		}
		at = start + end + 1
		if version < 4 {
			at += (8 - (start+end+1-(start-head))%8) % 8
		}
	}
	return total
}
