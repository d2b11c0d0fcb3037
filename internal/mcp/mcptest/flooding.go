package mcptest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// flooding is the output of a server that says something of its own without end, once it has said anything.
type flooding struct {
	mu   sync.Mutex
	kind string // a method; of a request if it is no notification
	once sync.Once
}

// Write implements io.Writer.
func (f *flooding) Write(p []byte) (int, error) {
	defer f.once.Do(func() {
		if f.kind != "" {
			go f.flood()
		}
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	return os.Stdout.Write(p)
}

func (*flooding) Close() error { return os.Stdout.Close() }

func (f *flooding) flood() {
	for n := 0; ; n++ {
		line := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"data":"more","level":"info"}}`, f.kind)
		if f.kind == "ping" {
			line = fmt.Sprintf(`{"jsonrpc":"2.0","id":"own-%d","method":"ping"}`, n)
		}
		if _, err := f.Write([]byte(line + "\n")); err != nil {
			return
		}
	}
}

// deaf is the input of a server that reads nothing more once it knows that it is connected.
type deaf struct {
	io.Reader
	heard []byte
}

// Read implements io.Reader.
func (d *deaf) Read(p []byte) (int, error) {
	if bytes.Contains(d.heard, []byte("notifications/initialized")) {
		select {}
	}
	n, err := d.Reader.Read(p)
	d.heard = append(d.heard, p[:n]...)
	return n, err
}

// serve has a server speak over standard input and output.
func serve(s *mcp.Server, flood string, hears bool) error {
	var in io.Reader = os.Stdin
	if !hears {
		in = &deaf{Reader: in}
	}
	return s.Run(context.Background(), &mcp.IOTransport{ //nolint:forbidigo // it is a program
		Reader: io.NopCloser(in), Writer: &flooding{kind: flood}})
}

// addBabbling adds tools that answer with what is no answer: text that is none of the protocol, and a line without end.
func addBabbling(s *mcp.Server) {
	for name, start := range map[string]string{"junk": "", "endless": `{"jsonrpc":"2.0","id":"`} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "Babble."},
			func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
				_, err := os.Stdout.WriteString(start)
				for n := 0; n < 50 && err == nil; n++ {
					_, err = os.Stdout.Write(bytes.Repeat([]byte("z"), 1<<20))
				}
				return &mcp.CallToolResult{}, nil, err
			})
	}
}
