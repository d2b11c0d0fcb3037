package e2e_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"
)

// TestConformance: the protocol's official suite speaks to `troupe mcp serve`, by its scenarios for servers. It speaks
// HTTP alone, so that a bridge stands between, which hands on what either says byte for byte. What the suite finds
// must be what testdata/conformance.yaml says, where each scenario that does not apply has its reason.
func TestConformance(t *testing.T) {
	needNPM(t)
	t.Parallel()
	dir, _ := npmHome(t)
	put(t, filepath.Join(dir, "s.yaml"), serveScript)
	b := &bridge{t: t, dir: dir, sessions: map[string]*bridged{}}
	srv := httptest.NewServer(b)
	defer srv.Close()
	defer b.close()
	expected, err := filepath.Abs("testdata/conformance.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "exec", "--yes", "--package="+npmNode, "--package="+npmConformance, "--",
		"conformance", "server", "--url", srv.URL, "--expected-failures", expected)
	cmd.Dir, cmd.WaitDelay = dir, 10*time.Second
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("the suite: %v", err)
	}
	// The suite takes a scenario that it does not know for one that did not fail.
	for _, name := range []string{"server-initialize", "ping", "tools-list"} {
		if !regexp.MustCompile(`✓ ` + name + `: [1-9]\d* passed, 0 failed`).Match(out) {
			t.Errorf("the scenario %s was not passed", name)
		}
	}
}

// bridge lets a program that speaks HTTP speak to servers on standard input and output, one for each session.
type bridge struct {
	t   *testing.T
	dir string

	mu       sync.Mutex
	sessions map[string]*bridged
}

// bridged is one `troupe mcp serve`.
type bridged struct {
	cmd *exec.Cmd
	in  io.WriteCloser

	mu      sync.Mutex
	waiting map[string]chan []byte // by the id of the request; what it says by itself goes to all of them
}

func (b *bridge) begin() (id string, s *bridged) {
	cmd := exec.Command(binary, "mcp", "serve", "--model", "script:s.yaml")
	cmd.Dir, cmd.Stderr = b.dir, os.Stderr
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(b.dir, ".user"),
		"TROUPE_HOME="+filepath.Join(b.dir, ".home"))
	in, err := cmd.StdinPipe()
	if err != nil {
		b.t.Error(err)
		return "", nil
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.t.Error(err)
		return "", nil
	}
	s = &bridged{cmd: cmd, in: in, waiting: map[string]chan []byte{}}
	go s.read(out)
	id = rand.Text()
	b.mu.Lock()
	b.sessions[id] = s
	b.mu.Unlock()
	return id, s
}

func (b *bridge) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessions {
		if err := s.in.Close(); err != nil {
			b.t.Errorf("close its input: %v", err)
		}
		if err := s.cmd.Wait(); err != nil {
			b.t.Errorf("a server did not end well: %v", err)
		}
	}
}

type heading struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// read hands on what a server says, until it ends.
func (s *bridged) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := bytes.Clone(lines.Bytes())
		var h heading
		_ = json.Unmarshal(line, &h) // the suite finds out
		s.mu.Lock()
		for id, to := range s.waiting {
			if h.Method != "" || string(h.ID) == id {
				to <- line
			}
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, to := range s.waiting {
		close(to)
	}
	s.waiting = map[string]chan []byte{}
}

// ServeHTTP implements http.Handler: the streamable transport, as far as a server has to have it.
func (b *bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	var h heading
	if err != nil || json.Unmarshal(body, &h) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id := r.Header.Get("Mcp-Session-Id")
	b.mu.Lock()
	s := b.sessions[id]
	b.mu.Unlock()
	if s == nil && h.Method == "initialize" {
		id, s = b.begin()
	}
	if s == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Mcp-Session-Id", id)
	if h.Method == "" || len(h.ID) == 0 {
		s.say(b.t, body)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.ask(b.t, w, r, cmp.Or(string(h.ID), "?"), body)
}

func (s *bridged) say(t *testing.T, body []byte) {
	var line bytes.Buffer
	if json.Compact(&line, body) != nil {
		return
	}
	line.WriteByte('\n')
	if _, err := s.in.Write(line.Bytes()); err != nil {
		t.Errorf("write to the server: %v", err)
	}
}

// ask hands on a request, and all that is said until it is answered.
func (s *bridged) ask(t *testing.T, w http.ResponseWriter, r *http.Request, id string, body []byte) {
	heard := make(chan []byte, 100)
	s.mu.Lock()
	s.waiting[id] = heard
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, id)
	}()
	s.say(t, body)
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		select {
		case <-r.Context().Done():
			return
		case line, ok := <-heard:
			if !ok {
				return
			}
			_, _ = io.WriteString(w, "event: message\ndata: "+string(line)+"\n\n")
			if f, ok := w.(http.Flusher); ok {
				f.Flush()
			}
			var h heading
			if json.Unmarshal(line, &h) == nil && h.Method == "" {
				return
			}
		}
	}
}
