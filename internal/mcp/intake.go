package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mostAsked is how many requests of a server may wait for their answers. The library keeps each one in memory.
const mostAsked = 100

// intake decides what of a server's own words reaches the library, whose queue has no bound: requests up to a number,
// one word at a time that its tools have changed, and no notification that has no use here.
type intake struct {
	asked    atomic.Int64 // requests that have no answer yet
	revoked  atomic.Int64 // how many of them may still be taken back
	changing atomic.Bool  // that its tools changed is on its way
}

// hear reports whether a request or notification is passed on. An error ends the connection.
func (i *intake) hear(method string, request bool) (pass bool, err error) {
	if request {
		i.revoked.Add(1)
		if n := i.asked.Add(1); n > mostAsked {
			return false, fmt.Errorf("the server has asked for more than %d things at once", mostAsked)
		}
		return true, nil
	}
	switch method {
	case "notifications/tools/list_changed":
		return i.changing.CompareAndSwap(false, true), nil
	case "notifications/cancelled":
		if i.revoked.Add(-1) < 0 {
			i.revoked.Add(1)
			return false, nil
		}
		return true, nil
	case "notifications/subscriptions/acknowledged":
		return true, nil
	default:
		return false, nil
	}
}

func (i *intake) answered() { i.asked.Add(-1) }

// reined is a transport whose server is heard through an intake. Writing ends with its context even where the server
// does not read, and all of it ends with the context of the connection.
type reined struct {
	mcp.Transport
	in   *intake
	work *sync.WaitGroup
	gone *atomic.Bool // set once nothing more is heard: whoever calls next must not be sent there
}

// Connect implements mcp.Transport.
func (r reined) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := r.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	out := &reinedConn{Connection: conn, reined: r, turn: make(chan struct{}, 1), over: ctx.Done()}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	return out, nil
}

type reinedConn struct {
	mcp.Connection
	reined reined
	turn   chan struct{} // held by who writes
	over   <-chan struct{}
}

// Read implements mcp.Connection.
func (c *reinedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := c.Connection.Read(ctx)
		if err != nil {
			c.reined.gone.Store(true)
			return nil, err
		}
		select {
		case <-c.over:
			return nil, io.EOF
		default:
		}
		r, ok := msg.(*jsonrpc.Request)
		if !ok {
			return msg, nil
		}
		if pass, err := c.reined.in.hear(r.Method, r.IsCall()); err != nil || pass {
			return msg, err
		}
	}
}

// Write implements mcp.Connection.
func (c *reinedConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if _, ok := msg.(*jsonrpc.Response); ok {
		defer c.reined.in.answered()
	}
	select {
	case <-c.over:
		return io.ErrClosedPipe
	default:
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.over:
		return io.ErrClosedPipe
	}
	done := make(chan error, 1)
	c.reined.work.Go(func() {
		done <- c.Connection.Write(context.WithoutCancel(ctx), msg)
		<-c.turn
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-c.over:
		return io.ErrClosedPipe
	}
}

// sifted is a stream of events that is heard through an intake. An event whose data are left out stays, with its id.
type sifted struct {
	io.ReadCloser
	lines *bufio.Reader
	in    *intake
	rest  []byte
	err   error
}

func sift(body io.ReadCloser, in *intake) *sifted {
	return &sifted{ReadCloser: body, lines: bufio.NewReader(body), in: in}
}

// Read implements io.Reader.
func (s *sifted) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.rest, s.err = s.lines.ReadBytes('\n') // the body below is bounded
		if data, ok := bytes.CutPrefix(s.rest, []byte("data:")); ok {
			if method, request := heading(data); method != "" {
				pass, err := s.in.hear(method, request)
				if err != nil {
					s.rest, s.err = nil, err
				} else if !pass {
					s.rest = nil
				}
			}
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// heading is the method of a message, "" of an answer, and whether it wants one.
func heading(data []byte) (method string, request bool) {
	var m struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
	}
	if json.Unmarshal(data, &m) != nil {
		return "", false // the library says what is wrong with it
	}
	return m.Method, len(m.ID) > 0 && string(m.ID) != "null"
}
