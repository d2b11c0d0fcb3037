package chat

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// lineRequest is a request as a line of stream-json.
type lineRequest struct {
	Type string `json:"type"` // "request"
	wire.Request
}

// lineError says what is wrong with a line of input, or with what it asked for.
type lineError struct {
	Type    string `json:"type"` // "error"
	Line    int    `json:"line"`
	Problem string `json:"problem"`
}

// driver is one use of Drive. One goroutine has it.
type driver struct {
	trees *trees
	c     *console.Console
	tree  *tree
	told  map[string]bool // requests that were written
	input bool            // there may be more
	// failed is why no conversation began.
	failed error
	denied map[string]bool // requests that were denied because nobody is there
	over   bool            // nothing more comes
	report wire.Report     // of the root's last run here
}

// ordered is a line of input.
type ordered struct {
	order order
	line  int
	err   error
}

// Drive lets a program hold a conversation: orders as lines of JSON on standard input,
// events, requests and results as lines of JSON on standard output. It returns when the
// input has ended and the tree as well; the report is of the root's last run.
func Drive(ctx context.Context, c *console.Console, a api.API, b wire.Begin) (wire.Report, error) {
	trees, first := newTrees(a, b)
	d := &driver{trees: trees, c: c, told: make(map[string]bool), denied: make(map[string]bool), input: true}
	defer func() {
		if d.tree != nil {
			d.tree.close()
		}
	}()
	interrupts := make(chan struct{}, 2)
	count := 0
	defer c.Interrupts.Take(func() {
		if count++; count > 1 {
			c.Interrupts.Leave(troupe.ExitInterrupted)
			return
		}
		interrupts <- struct{}{}
	})()
	if something(first) {
		if err := d.begin(ctx, first); err != nil {
			return d.report, err
		}
	}
	lines, quit := make(chan ordered), make(chan struct{})
	defer close(quit)
	go readOrders(c.In, lines, quit)
	for d.input || d.tree != nil && !d.over {
		var err error
		batches, ended := d.tree.comes()
		select {
		case l := <-lines:
			err = d.line(ctx, l)
		case <-interrupts:
			err = d.interrupt(ctx)
		case f := <-batches:
			if err = f.err; err == nil {
				err = d.show(ctx, f.Batch)
			}
		case err = <-ended:
			if errors.Is(err, troupe.ErrAsleep) {
				err = console.Asleep(string(d.tree.root))
			}
			if d.over = true; err == nil {
				err = d.tree.rest(ctx, func(b wire.Batch) error { return d.show(ctx, b) })
			}
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return d.report, err
		}
	}
	switch {
	case d.failed != nil:
		return d.report, d.failed
	case d.tree != nil && d.report.Type == "":
		return a.Report(ctx, d.tree.root) // it was resumed and had nothing to do
	case d.tree == nil:
		return d.report, console.Usage("there was no conversation: standard input had no %q line", orderUser)
	}
	return d.report, nil
}

// readOrders reads until the input ends or nobody listens any more. A read that is under way
// then ends with the input; Drive does not wait for it.
func readOrders(in io.Reader, out chan<- ordered, quit <-chan struct{}) {
	r := newOrders(in)
	for {
		ord, err := r.next()
		select {
		case out <- ordered{ord, r.line, err}:
		case <-quit:
			return
		}
		var bad *badLine
		if err != nil && !errors.As(err, &bad) {
			return
		}
	}
}

// line carries an order out. What is wrong with it is told, and nothing else is lost.
func (d *driver) line(ctx context.Context, l ordered) error {
	var bad *badLine
	switch {
	case !d.input:
		return nil
	case errors.As(l.err, &bad):
		return d.problem(bad.line, bad.problem)
	case l.err != nil:
		if err := d.end(ctx); err != nil || errors.Is(l.err, io.EOF) {
			return err
		}
		return d.problem(l.line, "standard input cannot be read: "+l.err.Error())
	case l.order.Type == orderEnd:
		return d.end(ctx)
	}
	if err := d.carryOut(ctx, l.order); err != nil {
		return d.problem(l.line, err.Error())
	}
	return nil
}

func (d *driver) problem(line int, text string) error {
	return d.c.JSON(lineError{"error", line, text})
}

func (d *driver) carryOut(ctx context.Context, o order) error {
	if d.tree == nil {
		if o.Type != orderUser {
			return fmt.Errorf("nothing has begun yet; a %q line comes first", orderUser)
		}
		b := d.trees.next
		b.Prompt, b.Images = o.Text, o.Images
		d.failed = d.begin(ctx, b)
		return d.failed
	}
	if o.Type == orderAnswer { // only the process that runs a tree has requests
		return d.trees.api.Answer(ctx, o.Request,
			wire.Answer{Allow: *o.Allow, Session: o.Session, Wider: o.Wider, Always: o.Always, Note: o.Note})
	}
	return d.tree.held(ctx, func() error {
		switch o.Type {
		case orderUser:
			_, err := d.trees.api.Send(ctx, d.tree.root, wire.Message{Text: o.Text,
				Spoken: wire.Spoken{Images: o.Images}, Cancel: o.Cancel})
			return err
		case orderStop:
			return d.trees.api.Stop(ctx, d.tree.root, wire.Stop{Now: o.Now})
		default:
			return d.trees.api.Compact(ctx, d.tree.root, o.Hint)
		}
	})
}

func (d *driver) begin(ctx context.Context, b wire.Begin) error {
	t, err := d.trees.begin(ctx, b, false)
	if err != nil {
		return err
	}
	d.tree, d.failed = t, nil
	for _, w := range t.warnings {
		d.c.Warn(w)
	}
	return d.requests(ctx)
}

// end takes no more orders: what is under way is finished. Nobody answers requests any more.
func (d *driver) end(ctx context.Context) error {
	d.input = false
	if d.tree == nil {
		return nil
	}
	d.tree.wait(ctx)
	return d.requests(ctx)
}

// interrupt ends the run in good order, and with it the conversation.
func (d *driver) interrupt(ctx context.Context) error {
	if d.tree == nil {
		return &console.Exit{Code: troupe.ExitInterrupted}
	}
	err := d.tree.held(ctx, func() error {
		return d.trees.api.Stop(ctx, d.tree.root, wire.Stop{Now: true, Tree: true})
	})
	if err != nil {
		return err
	}
	if !d.input {
		return nil
	}
	return d.end(ctx)
}

// show writes events, what they ask, and what a finished run of the root came to.
func (d *driver) show(ctx context.Context, b wire.Batch) error {
	console.Arrange(b.Events)
	for _, e := range b.Events {
		if err := d.c.Events([]troupe.Event{e}); err != nil {
			return err
		}
		var err error
		switch b := e.Body.(type) {
		case troupe.RequestOpened:
			err = d.requests(ctx)
		case troupe.Slept:
			if e.Session == d.tree.root {
				d.tree.wait(ctx)
			}
		case troupe.Ended:
			if e.Session == d.tree.root {
				err = d.result(ctx, b.Outcome)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// result writes what a run came to. The next one may be under way by now, and the report is of
// what is: how this one ended stands in its end.
func (d *driver) result(ctx context.Context, o troupe.Outcome) error {
	report, err := d.trees.api.Report(ctx, d.tree.root)
	if err != nil {
		return err
	}
	report.Status, report.Cause, report.Result, report.Error = o.Status, o.Cause, o.Result, o.Error
	d.report = report
	return d.c.JSON(report)
}

// requests writes the requests that are open and were not written yet. When no more orders
// can come, each is denied at once.
func (d *driver) requests(ctx context.Context) error {
	open, err := d.trees.api.Requests(ctx, d.tree.root)
	if err != nil {
		return err
	}
	for _, r := range open {
		if !d.told[r.ID] {
			d.told[r.ID] = true
			if err := d.c.JSON(lineRequest{"request", r}); err != nil {
				return err
			}
		}
		if d.input || d.denied[r.ID] || r.Kind == troupe.RequestTool { // which another program answers
			continue
		}
		d.denied[r.ID] = true
		err := d.trees.api.Answer(ctx, r.ID, wire.Answer{Note: "the conversation was left"})
		if err != nil && !errors.Is(err, troupe.ErrNotFound) {
			// Somebody else may have answered; else its deadline will.
			if err := d.problem(0, err.Error()); err != nil {
				return err
			}
		}
	}
	return nil
}
