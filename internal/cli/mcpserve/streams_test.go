package mcpserve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// serving is a server that no session is asked of, with the ends of its streams.
func serving(t *testing.T, patience time.Duration) (in *io.PipeWriter, out *io.PipeReader, ended chan error) {
	t.Helper()
	inside, in := io.Pipe()
	out, outside := io.Pipe()
	ended = make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	go func() {
		defer cancel()
		ended <- Serve(ctx, nil, inside, outside, Options{Version: "1", Patience: patience})
	}()
	t.Cleanup(func() {
		_, _ = in.Close(), out.Close()
	})
	return in, out, ended
}

// TestLinesThatAreNoMessages: each is answered as JSON-RPC has it, and what follows is heard.
func TestLinesThatAreNoMessages(t *testing.T) {
	t.Parallel()
	in, out, ended := serving(t, 0)
	go func() {
		for _, line := range []string{"rubbish", "", `{"jsonrpc":"2.0"`, `42`,
			`{"jsonrpc":"1.0","id":"x","method":"ping"}`,
			`[]`, `[1]`, strings.Repeat("x", mostLine+2), hello, "\x00\xff",
			`{"jsonrpc":"2.0","id":2,"method":"ping"}`} {
			if _, err := fmt.Fprintf(in, "%s\r\n", line); err != nil {
				return
			}
		}
	}()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	type message struct {
		ID     any                 `json:"id"`
		Error  *struct{ Code int } `json:"error"`
		Result json.RawMessage     `json:"result"`
	}
	answers := map[string]int{}
	for range 10 {
		if !lines.Scan() {
			t.Fatal("it ended: ", lines.Err(), answers)
		}
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(lines.Text(), err)
		}
		code := 0
		if m.Error != nil {
			code = m.Error.Code
		}
		answers[fmt.Sprintf("%v %d", m.ID, code)]++
	}
	for answer, n := range map[string]int{"<nil> -32700": 4, "<nil> -32600": 3, "x -32600": 1, "1 0": 1, "2 0": 1} {
		if answers[answer] != n {
			t.Errorf("%s came %d times, want %d, of %v", answer, answers[answer], n, answers)
		}
	}
	_ = in.Close()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestReadsNothing: a program that asks and reads nothing of the answers is given up, in words that say so.
func TestReadsNothing(t *testing.T) {
	t.Parallel()
	in, _, ended := serving(t, 10*time.Millisecond)
	go func() { _, _ = io.WriteString(in, hello+"\n") }()
	err, ok := (<-ended).(*troupe.UserError) //nolint:errorlint // it is what Serve says
	if !ok || err.Problem != "the program at the other end has read nothing for 10ms" {
		t.Errorf("it ended with %v", err)
	}
}

// FuzzWrong: no line is both refused and heard, and none fails.
func FuzzWrong(f *testing.F) {
	for _, line := range []string{hello, "", "[]", "{}", `[{"jsonrpc":"2.0","id":1,"method":"x"}]`, "x"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var out strings.Builder
		l := &lines{in: bufio.NewReader(strings.NewReader(string(line))), out: &out}
		heard, err := io.ReadAll(l)
		if err != nil {
			t.Fatal(err)
		}
		for one := range strings.Lines(string(heard)) {
			if code, why := wrong([]byte(one), false); code != 0 {
				t.Errorf("%q is heard: %s", one, why)
			}
		}
		for one := range strings.Lines(out.String()) {
			if !json.Valid([]byte(one)) {
				t.Errorf("the answer %q is no JSON", one)
			}
		}
	})
}
