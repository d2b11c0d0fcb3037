//go:build !linux

package safefile

func ways() map[string]func(string) (dir, error) {
	return map[string]func(string) (dir, error){"os.Root": openRoot}
}
