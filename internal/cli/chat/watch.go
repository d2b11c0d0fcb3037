package chat

import (
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/cli/chat/render"
	"github.com/troupe-dev/troupe/internal/wire"
)

// board shows what is at work at the foot of a terminal, and draws it anew as time goes on.
type board struct {
	time func() time.Time // the clock of the process, which tests set; nil: the machine's
	on   bool             // there is a foot that can be drawn anew
	work *render.Work     // nil without a tree
	// still: no process runs the tree, so what its log has under way is not.
	still bool
	beat  *time.Ticker // nil until something was at work
	// status says what the conversation works with; it stands above the prompt.
	status string
	own    []string      // the status line of the settings, below it
	beside func() string // says what is shown instead of the conversation; nil: nothing is
}

func (b *board) now() time.Time {
	if b.time != nil {
		return b.time()
	}
	return time.Now()
}

// beat is how often the rows are drawn anew.
const beat = time.Second

// tick has the next beat come if there is something whose time goes on.
func (b *board) tick() <-chan time.Time {
	if !b.on || b.work == nil || b.still || !b.work.Busy() {
		return nil
	}
	if b.beat == nil {
		b.beat = time.NewTicker(beat)
	}
	return b.beat.C
}

func (b *board) close() {
	if b.beat != nil {
		b.beat.Stop()
	}
}

// below puts what is at work behind what stands there for now, an unfinished line.
func (b *board) below(tail string) string {
	if !b.on {
		return tail
	}
	var rows []string
	if tail != "" {
		rows = append(rows, tail)
	}
	if b.work != nil && !b.still {
		rows = append(rows, b.work.Rows(b.now(), false)...)
	}
	if b.beside != nil {
		rows = append(rows, b.beside())
	}
	if b.status != "" {
		rows = append(rows, b.status)
	}
	rows = append(rows, b.own...)
	return strings.Join(rows, "\n")
}

// follow follows what happens.
func (b *board) follow(batch wire.Batch) {
	for _, e := range batch.Events {
		b.work.Event(e)
	}
	for _, d := range batch.Deltas { // what they are about may have come with them
		b.work.Delta(d, b.now())
	}
}
