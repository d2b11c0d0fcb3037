package run

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/chat"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Input is how a run is talked to.
type Input int

// Ways of talking to a run.
const (
	InputPrompt Input = iota // one prompt
	InputText                // a conversation, in lines of words
	InputJSON                // a conversation, in lines of stream-json
)

// Asked is what arguments ask for.
type Asked struct {
	Begin  wire.Begin
	Output Output
	Way    Input
	// Words are the first of a conversation, if the arguments hold them.
	Words string
	// Person: the conversation is with somebody at a terminal.
	Person bool
}

// Resumes reports whether a session that is there is to go on.
func (a Asked) Resumes() bool { return a.Begin.Resume != "" || a.Begin.Continue }

// Parse reads arguments as the command does, and runs nothing. Of a conversation nothing is
// read yet. Otherwise is the prompt if there is no other; "" means that there has to be one.
func Parse(c *console.Console, args []string, otherwise string) (Asked, error) {
	cmd := &cobra.Command{Use: "troupe [prompt]", SilenceErrors: true, SilenceUsage: true}
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SetFlagErrorFunc(console.FlagError)
	var out Asked
	parsed := false
	parse := func(_ context.Context, f flags, way Input, args []string) (err error) {
		parsed, out = true, Asked{Way: way, Output: f.output(c)}
		switch way {
		case InputPrompt:
			out.Begin, err = request(c, f, args, otherwise)
			return err
		case InputJSON:
			if f.format != formatStream {
				return ordersNeedStream()
			}
		case InputText:
			out.Person = c.InTTY
		}
		if len(args) > 0 {
			out.Words = args[0]
		}
		out.Begin, err = base(c, f)
		return err
	}
	configure(cmd, c, parse)
	cmd.AddCommand(newTeam(c, parse))
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

// Execute carries out what was asked for, shows it, and returns its report. A player, if there is one, plays it: then
// standard input is not read, and the person's words are the recorded ones.
func Execute(ctx context.Context, c *console.Console, h *home.Home, asked Asked, p *home.Player) (wire.Report, error) {
	b := asked.Begin
	if asked.Way == InputPrompt {
		return Follow(ctx, c, h.API, b, asked.Output)
	}
	b.Prompt = asked.Words
	if p != nil {
		silent := *c
		silent.In = strings.NewReader("")
		c = &silent
		if text, images := p.Prompt(); b.Prompt == "" {
			b.Prompt, b.Images = text, images
		}
	}
	one := &single{API: h.API}
	var err error
	if asked.Way == InputJSON {
		_, err = chat.Drive(ctx, c, one, b)
	} else {
		err = chat.Run(ctx, c, one, b, chat.Options{Mask: h.Mask, HangUp: c.HangUp})
	}
	switch {
	case err != nil:
		return wire.Report{}, err
	case one.root == "":
		return wire.Report{}, console.Usage("there was no conversation: standard input held no message")
	}
	return h.API.Report(ctx, one.root)
}

// single begins one tree and no other.
type single struct {
	api.API
	root troupe.SessionID
}

// Begin implements api.Runs.
func (s *single) Begin(ctx context.Context, b wire.Begin) (wire.Begun, error) {
	if s.root != "" && b.Resume != string(s.root) {
		return wire.Begun{}, &troupe.UserError{Problem: "a recording holds one conversation",
			Hint: "Record another one by itself."}
	}
	begun, err := s.API.Begin(ctx, b)
	if err == nil {
		s.root = begun.Root
	}
	return begun, err
}

// End prints what is left to print when what was asked for has been carried out. The error
// carries the exit code.
func End(c *console.Console, report wire.Report, asked Asked) error {
	switch asked.Way {
	case InputText:
		return nil // all of it was shown, and a conversation that ends has not failed
	case InputJSON:
		c = &console.Console{Out: io.Discard, Err: io.Discard}
	case InputPrompt:
	}
	return Finish(c, report, asked.Output)
}
