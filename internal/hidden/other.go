//go:build !linux

package hidden

import (
	"errors"
	"os"
)

// watch is not there.
type watch struct{ confused bool }

func newWatch() (*watch, error) {
	return nil, errors.New("this system has no watches that Troupe uses")
}

func (*watch) close() error                                      { return nil }
func (*watch) mounted() bool                                     { return true }
func (*watch) forget()                                           {}
func (*watch) register(*node)                                    {}
func (*watch) remove(*node)                                      {}
func (*watch) drain(func(*node, string)) ([]change, bool, error) { return nil, false, nil }

type reader struct{}

func (p *part) read(n *node) error {
	list, err := os.ReadDir(n.path)
	for _, e := range list {
		p.entry(n, e.Name(), e.IsDir())
	}
	return err
}

func isNoFolder(error) bool { return false }

func couldOpen(string) bool { return true }
