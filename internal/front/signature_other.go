//go:build unix && !linux

package front

import "syscall"

// changed is nothing where the field has another name on each system; size and time of writing tell.
func changed(*syscall.Stat_t) []int64 { return nil }
