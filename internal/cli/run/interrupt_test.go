package run_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/hometest"
	"github.com/troupe-dev/troupe/internal/cli/run"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestInterruptWhileItBegins: an interrupt that comes while a run begins stops it, and one that comes before
// there is a session leaves none.
func TestInterruptWhileItBegins(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{"it begins": false, "it is refused": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := hometest.Open(t, "replies: [{delay: 1h, text: late}]\n")
			var out bytes.Buffer
			c := hometest.Console(t, b.Cwd, nil, &out)
			asked := interrupts{a.As(troupe.You(troupe.SurfaceHeadless)), c, refused}
			b.Prompt = "go"
			err := run.Headless(t.Context(), c, asked, b, run.Output{Format: "text"})
			if console.Code(err) != troupe.ExitInterrupted {
				t.Errorf("it ended with %v\n%s", err, out.String())
			}
			list, err := asked.List(t.Context(), wire.Listing{})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range list {
				if s.Status != troupe.Cancelled {
					t.Errorf("a session is left %s", s.Status)
				}
			}
		})
	}
}

// TestOneInterruptTwice: a signal that comes to the process and to its group is one; a later one leaves.
func TestOneInterruptTwice(t *testing.T) {
	t.Parallel()
	for after, left := range map[time.Duration]bool{0: false, 100 * time.Millisecond: false, time.Second: true} {
		now, gone := time.Now(), false
		c := &console.Console{Out: io.Discard, Err: io.Discard, Now: func() time.Time { return now },
			Interrupts: &console.Interrupts{Leave: func(int) { gone = true }}}
		raise := run.Interruption(c)
		raise()
		now = now.Add(after)
		if raise(); gone != left {
			t.Errorf("a second one %v later leaves: %v", after, gone)
		}
	}
}

// interrupts is an api whose user interrupts while a run begins.
type interrupts struct {
	api.API
	c       *console.Console
	refused bool
}

func (i interrupts) Begin(ctx context.Context, b wire.Begin) (wire.Begun, error) {
	if i.refused {
		i.c.Interrupts.Raise()
		return wire.Begun{}, errors.New("no")
	}
	begun, err := i.API.Begin(ctx, b)
	i.c.Interrupts.Raise()
	return begun, err
}
