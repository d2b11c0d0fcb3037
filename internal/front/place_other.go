//go:build !linux

package front

import "os"

// place is a folder that is looked into many times.
type place struct{}

func placeAt(string) place               { return place{} }
func (place) close()                     {}
func (place) stamp(string) (stamp, bool) { return stamp{}, false }

// sign is what tells of a change of what a path leads to, and whether that is a folder.
func (place) sign(path string) (of []int64, dir, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, false, false
	}
	return append([]int64{info.Size(), int64(info.Mode()), info.ModTime().UnixNano()}, numbers(info)...), info.IsDir(),
		true
}
