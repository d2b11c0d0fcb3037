package mcp

import (
	"fmt"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
)

// mostTail is how much is kept of what a server prints beside what it says: enough to see what was wrong last.
const mostTail = 2 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-mostTail):]...)
	t.text = t.text[max(0, len(t.text)-mostTail):]
	return len(p), nil
}

// explain adds the last lines that a server printed to an error.
func (t *tail) explain(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 3
	var lines []string
	for line := range strings.Lines(strings.ToValidUTF8(string(t.text), "�")) {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			if troupe.Unseen(r) && r != ' ' {
				return -1
			}
			return r
		}, line))
		if line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return err
	}
	return fmt.Errorf("%w; it had printed: %s", err, strings.Join(lines[max(0, len(lines)-most):], " / "))
}
