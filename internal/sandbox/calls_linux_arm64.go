package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// oldCalls are the watched calls that newer processors never had.
func oldCalls() map[uintptr]shape { return nil }

// oldOpens are the calls that open files, with the argument that has their flags.
func oldOpens() []opener { return nil }

// refusedHere are calls of this processor only that nobody confined may make.
func refusedHere() []uintptr { return nil }
