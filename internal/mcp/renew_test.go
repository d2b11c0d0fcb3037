package mcp

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// heeded tells of each word that tools have changed, once it was heard.
type heeded struct {
	mcp.Transport
	word chan struct{}
}

func (h heeded) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := h.Transport.Connect(ctx)
	return &heededConn{conn, h.word, false}, err
}

type heededConn struct {
	mcp.Connection
	word chan struct{}
	last bool // the message before was such a word: who reads on has heard it
}

func (c *heededConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	if c.last {
		c.word <- struct{}{}
	}
	msg, err := c.Connection.Read(ctx)
	r, ok := msg.(*jsonrpc.Request)
	c.last = ok && r.Method == "notifications/tools/list_changed"
	return msg, err
}

// TestChangesWhileListed: tools that change while they are listed are listed once more.
func TestChangesWhileListed(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	add := func(name string) {
		mcp.AddTool(server, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, struct{}) (
			*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	}
	add("a")
	word, lists := make(chan struct{}), atomic.Int32{}
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			out, err := next(ctx, method, r)
			if method == "tools/list" && lists.Add(1) == 1 {
				add("c")
				<-word
			}
			return out, err
		}
	})
	theirs, ours := mcp.NewInMemoryTransports()
	go func() { _ = server.Run(t.Context(), theirs) }() // it ends with the test

	heard := make(chan List, 10)
	s := New(t.Context(), Options{Changed: func(_ Target, l List) { heard <- l }})
	defer s.Close()
	c := &conn{changes: make(chan struct{}, 1)}
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c.changes <- struct{}{} }})
	session, err := client.Connect(s.ctx, reined{heeded{ours, word}, &c.in, &s.wait, &c.gone},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	c.session = session
	s.wait.Go(func() { s.renew(s.ctx, c, Target{Entry: entry.Entry{Name: "s"}}) })
	add("b")
	<-word
	for want := 2; want <= 3; want++ {
		select {
		case l := <-heard:
			if len(l.Tools) != want {
				t.Errorf("%d tools, want %d", len(l.Tools), want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("a list with %d tools was not told", want)
		}
	}
}

// TestGoneAtOnce: a connection on which nothing more is heard is of no use from that moment on. A call that was sent
// there would be told as one that may have taken effect.
func TestGoneAtOnce(t *testing.T) {
	t.Parallel()
	var c conn
	var work sync.WaitGroup
	theirs, ours := mcp.NewInMemoryTransports()
	other, err := theirs.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mine, err := reined{ours, &c.in, &work, &c.gone}.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil || c.gone.Load() {
		t.Fatal(err, c.gone.Load())
	}
	if _, err := mine.Read(t.Context()); err == nil || !c.gone.Load() {
		t.Errorf("%v, and the next call would be sent there", err)
	}
	work.Wait()
}
