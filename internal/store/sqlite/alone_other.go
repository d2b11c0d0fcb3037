//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package sqlite

func holdAlone(string) (func(), error) { return nil, errNoLocks }
