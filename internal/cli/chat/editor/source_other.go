//go:build !unix

package editor

import (
	"errors"
	"os"
)

// keySource reads a terminal. Here a read cannot be given up; Close waits for one more key.
type keySource struct{ in *os.File }

// Reads end with these as well.
var (
	errQuiet     = errors.New("nothing came")
	errCancelled = errors.New("the reading was given up")
)

func newKeySource(in *os.File) (keySource, error) { return keySource{in: in}, nil }

func (k keySource) read(buf []byte, _ bool) (int, error) { return k.in.Read(buf) }

func (k keySource) cancel() {}

func (k keySource) close() error { return nil }

func (e *Editor) watchSize() func() { return func() { defer e.wg.Done(); <-e.done } }

func (e *Editor) suspend() {}
