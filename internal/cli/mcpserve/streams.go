package mcpserve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lines is an input without the lines that are no messages: the SDK would end at the first. Each is answered, as
// JSON-RPC has it, and what follows is read.
type lines struct {
	in   *bufio.Reader
	out  io.Writer
	rest []byte // of the line that is being read
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, long, err := l.next()
		if code, why := wrong(line, long); code != 0 {
			if err := l.refuse(line, code, why); err != nil {
				return 0, err
			}
		} else if len(bytes.TrimSpace(line)) > 0 {
			l.rest = append(bytes.TrimSpace(line), '\n')
			break
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// mostLine is how long a message may be.
const mostLine = mcp.DefaultMaxLineLength - 1

// next reads a line. Of one that is too long it keeps nothing.
func (l *lines) next() (line []byte, long bool, err error) {
	for {
		piece, err := l.in.ReadSlice('\n')
		if long = long || len(line)+len(piece) > mostLine; long {
			line = nil
		} else {
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// Errors of JSON-RPC.
const (
	parseError     = -32700
	invalidRequest = -32600
)

// wrong says what is wrong with a line; 0: nothing is.
func wrong(line []byte, long bool) (code int, why string) {
	line = bytes.TrimSpace(line)
	switch {
	case long:
		return parseError, fmt.Sprintf("the line is longer than %d bytes", mostLine)
	case len(line) == 0:
		return 0, ""
	case !json.Valid(line):
		return parseError, "the line is not JSON; a message is one line of it"
	case line[0] == '[': // several messages, which some versions of MCP have
		var all []json.RawMessage
		if json.Unmarshal(line, &all) != nil || len(all) == 0 {
			return invalidRequest, "an empty list is no message"
		}
		for _, one := range all {
			if _, err := jsonrpc.DecodeMessage(one); err != nil {
				return invalidRequest, "not all in the list are messages of JSON-RPC 2.0"
			}
		}
		return 0, ""
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return invalidRequest, "the line is no message of JSON-RPC 2.0"
	}
	return 0, ""
}

// refuse answers a line that is no message.
func (l *lines) refuse(line []byte, code int, why string) error {
	var asked struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(line, &asked) != nil || len(asked.ID) == 0 || bytes.ContainsAny(asked.ID[:1], "{[tf") {
		asked.ID = json.RawMessage("null")
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": asked.ID,
		"error": map[string]any{"code": code, "message": why}})
	if err != nil {
		return fmt.Errorf("answer a line that is no message: %w", err)
	}
	_, err = l.out.Write(append(answer, '\n'))
	return err
}

// patient is an output that is given up once nothing of it has been read for a while. What is written then is still
// held by the goroutine that writes it, until the output is closed or the process ends: nothing else ends a write to a
// pipe.
type patient struct {
	out    io.Writer
	most   time.Duration
	gaveUp context.CancelFunc

	mu   sync.Mutex
	over bool // guarded by mu, as is all of out
}

var errUnread = errors.New("nothing is read at the other end")

func (w *patient) late() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// piece is how much is written at once: more than the buffer of a pipe holds takes a reader that is there some time.
const piece = 32 << 10

// Write implements io.Writer.
func (w *patient) Write(p []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(p) > n {
		if w.over {
			return n, errUnread
		}
		part := bytes.Clone(p[n:min(len(p), n+piece)])
		done := make(chan error, 1)
		go func() {
			_, err := w.out.Write(part)
			done <- err
		}()
		timer := time.NewTimer(w.most)
		select {
		case err := <-done:
			timer.Stop()
			if err != nil {
				return n, err
			}
			n += len(part)
		case <-timer.C:
			w.over = true
			w.gaveUp()
		}
	}
	return n, nil
}
