//go:build !linux

package safefile

func openDir(path string) (dir, error) { return openRoot(path) }
