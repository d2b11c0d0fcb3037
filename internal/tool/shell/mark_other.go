//go:build unix && !linux

package shell

import "syscall"

// marks: only Linux has them. Elsewhere a command's processes are its group.
type marks struct{}

func newMarks() *marks { return &marks{} }

func (*marks) put(int) mark { return 0 }

func (*marks) bounds() (first, last string) { return "", "" }

func (k kin) signal(sig syscall.Signal) bool { return signalGroup(k.group, sig) }
