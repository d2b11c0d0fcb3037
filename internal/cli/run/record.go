package run

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/cli/chat"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Way is how a run is talked to.
type Way int

// Ways of talking to a run.
const (
	Once   Way = iota // one prompt
	Lines             // a conversation, in lines of words
	Orders            // a conversation, in lines of stream-json
)

// Asked is what arguments ask for.
type Asked struct {
	Request app.Request
	Output  Output
	Way     Way
	// Words are the first of a conversation, if the arguments hold them.
	Words string
	// Person: the conversation is with somebody at a terminal.
	Person bool
}

// Goes reports whether a session that is there is to go on.
func (a Asked) Goes() bool { return a.Request.Resume != "" || a.Request.Continue }

// Parse reads arguments as the command does, and runs nothing. Of a conversation nothing is
// read yet. Otherwise is the prompt if there is no other; "" means that there has to be one.
func Parse(c *console.Console, args []string, otherwise string) (Asked, error) {
	cmd := &cobra.Command{Use: "troupe [prompt]", SilenceErrors: true, SilenceUsage: true}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return console.Usage("%v", err) })
	var out Asked
	parsed := false
	configure(cmd, c, func(_ context.Context, f flags, way Way, args []string) (err error) {
		parsed, out = true, Asked{Way: way, Output: f.output(c)}
		switch way {
		case Once:
			out.Request, err = request(c, f, args, otherwise)
			return err
		case Orders:
			if f.format != formatStream {
				return ordersNeedStream()
			}
		case Lines:
			out.Person = c.InTTY
		}
		if len(args) > 0 {
			out.Words = args[0]
		}
		out.Request, err = base(c, f)
		return err
	})
	cmd.SetArgs(args)
	cmd.SetOut(c.Out)
	if err := cmd.Execute(); err != nil {
		return out, err
	}
	if !parsed {
		return out, &console.Exit{} // --help has said what there is to say
	}
	return out, nil
}

// Carry carries out what was asked for, shows it, and returns its report. A player, if there
// is one, plays it: then standard input is not read, and the person's words are the recorded
// ones.
func Carry(ctx context.Context, c *console.Console, a *app.App, asked Asked, p *app.Player) (wire.Run, error) {
	req := asked.Request
	req.Replay = p
	if asked.Way == Once {
		return Follow(ctx, c, a, req, asked.Output)
	}
	first := wire.Message{Text: asked.Words}
	if p != nil {
		silent := *c
		silent.In = strings.NewReader("")
		c = &silent
		text, images := p.Prompt()
		if first.Text == "" {
			first = wire.Message{Text: text, Images: images}
		}
	}
	var root troupe.SessionID
	b := chat.Local(a, req)
	begin := b.Begin
	b.Begin = func(ctx context.Context, o chat.Opening) (*chat.Tree, error) {
		if root != "" {
			return nil, &troupe.UserError{Problem: "a recording holds one conversation", Hint: "Record another one by itself."}
		}
		t, err := begin(ctx, o)
		if err == nil {
			root = t.Root
		}
		return t, err
	}
	var err error
	if opening := (chat.Opening{Message: first}); asked.Way == Orders {
		_, err = chat.Drive(ctx, c, b, opening)
	} else {
		err = chat.Run(ctx, c, b, chat.Options{Cwd: req.Cwd, Opening: opening, Mask: a.Mask, HangUp: c.HangUp})
	}
	switch {
	case err != nil:
		return wire.Run{}, err
	case root == "":
		return wire.Run{}, console.Usage("there was no conversation: nobody said anything on standard input")
	}
	return a.Report(ctx, root)
}

// End prints what is left to print when what was asked for has been carried out. The error
// carries the exit code.
func End(c *console.Console, report wire.Run, asked Asked) error {
	switch asked.Way {
	case Lines:
		return nil // all of it was shown, and a conversation that ends has not failed
	case Orders:
		c = &console.Console{Out: io.Discard, Err: io.Discard}
	case Once:
	}
	return Finish(c, report, asked.Output)
}
