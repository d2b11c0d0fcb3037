package front

import "io/fs"

// numbers are not to be had here without opening the file.
func numbers(fs.FileInfo) []int64 { return nil }
