package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newSend makes the command.
func newSend(c *console.Console) *cobra.Command {
	var asJSON, stop, fork, take bool
	cmd := &cobra.Command{
		Use: "send ID|NAME [text]", Short: "Send a message to an agent: steer it, or have it continue",
		Long: `Send a message to an agent, from any terminal. A running agent reads it before its next model
call. An agent that has ended continues with it if the session's process is still running;
otherwise the message waits until you resume the session.

With --fork a copy of the agent does it instead: it begins with all that the agent knows, works beside it, and
tells it in the end.`,
		Example: `troupe send 7k3f "use the v2 API instead"
troupe send "main/Auth Explorer" --cancel "that is enough, thank you"
troupe send main --fork "write the release notes for what you did"
git diff | troupe send main -`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return console.Usage("troupe send takes a session and the words for it")
			case len(args) > 2:
				return console.Usage("there are %d texts; put the words into quotes to make them one", len(args)-1)
			}
			return nil
		},
		ValidArgsFunction: c.Sessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := sendText(c, args[1:])
			if err != nil {
				return err
			}
			m.Cancel, m.Fork = stop, fork
			return c.With(cmd.Context(), troupe.SurfaceCommand, func(h *home.Home) error {
				if err := takeOver(cmd.Context(), c, h, args[0], take); err != nil {
					return err
				}
				return send(cmd.Context(), c, h.API, args[0], m, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&stop, "cancel", false, "Have it stop after the step it is in, once it has read this")
	cmd.Flags().BoolVar(&fork, "fork", false, "Have a copy of it do this, with all that it knows, while it goes on")
	takeOverFlag(cmd, &take)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// takeOverFlag is for commands that have something to say to a process that may not answer.
func takeOverFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "take-over", false, "Take the session from a process that does not answer")
}

// takeOver takes the tree of a session from a process that does not answer, if that is wanted.
func takeOver(ctx context.Context, c *console.Console, h *home.Home, ref string, wanted bool) error {
	if !wanted {
		return nil
	}
	s, err := h.API.Find(ctx, ref, c.Cwd)
	if err != nil {
		return err
	}
	return h.TakeOver(ctx, s.ID)
}

// maxSendText is more than any model's window holds.
const maxSendText = 8 << 20

// sendText takes the text from the command line, or else what is piped in. With a text there,
// nothing is read: whoever calls this from a program may leave its own input open for ever.
func sendText(c *console.Console, args []string) (m wire.Message, err error) {
	text := ""
	if len(args) > 0 && args[0] != "-" {
		text = args[0]
	} else if c.InPiped {
		b, err := io.ReadAll(io.LimitReader(c.In, maxSendText+1))
		if err != nil {
			return m, fmt.Errorf("read the text from standard input: %w", err)
		}
		if len(b) > maxSendText {
			return m, console.Usage("the text on standard input is larger than %d MB; "+
				"put it into a file and name that", maxSendText>>20)
		}
		text, m.Typed = string(b), new("") // it may be anybody's
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return m, &troupe.UserError{Problem: "there is nothing to send: no text was given",
			Hint: `Try: troupe send main "and write a test for it"`, Code: troupe.ExitUsage}
	case strings.ContainsRune(text, 0):
		return m, console.Usage("the text holds a NUL byte; is it a binary file?")
	}
	m.Text = strings.ToValidUTF8(text, "\uFFFD")
	return m, nil
}

func send(ctx context.Context, c *console.Console, a api.API, ref string, m wire.Message, asJSON bool) error {
	s, err := a.Find(ctx, ref, c.Cwd)
	if err != nil {
		return err
	}
	t, err := a.Tree(ctx, s.Root)
	if err != nil {
		return err
	}
	sent, err := a.Send(ctx, s.ID, m)
	if err != nil {
		return err
	}
	if asJSON {
		return c.JSON(sent)
	}
	err = c.Printf("%s: %s\n", console.Line(s.Path, 0), console.SentText(t, sent, m))
	return err
}
