//go:build !linux && !darwin

package httpd

import (
	"errors"
	"net"
	"os"
)

func self() int { return os.Getpid() }

// handle stands for the calling process on systems where it cannot be told.
type handle struct{}

func (handle) close()       {}
func (handle) check() error { return nil }

var errUntold = errors.New("on this system a caller's process cannot be told")

func connected(*net.UnixConn) (pid int, h handle, err error) { return 0, h, errUntold }

type untold struct{}

func processes() table { return untold{} }

func (untold) process(int) (process, error) { return process{}, errUntold }
func (untold) marked(int) (bool, error)     { return false, errUntold }
