package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/model/modeltest"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestPain14SlowReader: 300 agents report into a pipe that nobody reads until they are done.
// They are not held up, nothing queues up in memory beyond a bound, and the reader gets every
// event in the end.
func TestPain14SlowReader(t *testing.T) {
	t.Parallel()
	const agents, most = 300, 256 << 10 // KB; it takes about 100,000 with any reader
	done := make(chan struct{})
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		switch {
		case isMain(r) && r.Turn == 1:
			var calls []modeltest.Call
			for i := range agents {
				calls = append(calls, agentCall("prompt", fmt.Sprintf("Look at part %d", i)))
			}
			return modeltest.Calls(calls...)
		case isMain(r):
			close(done)
			return modeltest.Text("All seen.")
		case r.Turn <= 2:
			return modeltest.Calls(modeltest.Call{Name: "Read", Input: `{"file_path":"a.txt"}`})
		}
		return modeltest.Text("Seen.")
	})
	p.write("a.txt", strings.Repeat("a line of a file that is read by everybody\n", 700))
	p.write("../home/settings.json", `{"agents": {"max_active": 300, "max_total": 400}}`)
	cmd := p.command("-p", "look around", "--output-format", "stream-json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
		t.Error("the agents are held up by a reader that does not read")
	}
	unread := peak(t, cmd.Process.Pid)
	var events []wire.Event
	bytes, used := 0, 0
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadString('\n')
		if bytes += len(line); len(events)%1000 == 0 {
			used = max(used, peak(t, cmd.Process.Pid))
		}
		if line != "" {
			got, err := parseEvents(line)
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, got...)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("%d events, %d KB; at most %d KB of memory before they were read, %d KB in all", len(events), bytes>>10,
		unread, used)
	if used > most {
		t.Errorf("it took %d KB of memory, want at most %d", used, most)
	}
	seen := make(map[string]int64)
	for _, e := range events {
		if s := string(e.Session); e.Seq != seen[s]+1 {
			t.Fatalf("event %d of session %s follows event %d", e.Seq, s, seen[s])
		} else {
			seen[s] = e.Seq
		}
	}
	if len(seen) != agents+1 {
		t.Errorf("events of %d sessions, want %d", len(seen), agents+1)
	}
}

// peak is the most memory a process has had, in KB.
func peak(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0 // it has just ended
	}
	_, text, _ := strings.Cut(string(b), "VmHWM:")
	kb, _ := strconv.Atoi(strings.Fields(text + " 0")[0]) // a zombie has none
	return kb
}
