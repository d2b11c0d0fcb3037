//go:build !unix

package httpd

import (
	"context"
	"errors"
	"net"
)

// socket stands for a unix socket on systems where Troupe does not run yet.
type socket struct {
	listener net.Listener
	path     string
}

func claim(context.Context, string, Options) (*socket, error) {
	return nil, errors.New("troupe cannot serve on this system yet")
}

func (*socket) remove(context.Context) error { return nil }
