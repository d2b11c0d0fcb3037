package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/run"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newMemory makes the command with its parts.
func newMemory(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "memory", Short: "Show, edit and forget what agents have kept", Args: console.NoArgs,
		Long: `List what agents have kept for the next one of their type. An agent keeps something if its definition says
memory: user, project or local. It is kept in Markdown files:

  user:    ~/.claude/agent-memory/NAME, for all your projects
  project: .claude/agent-memory/NAME, for all who work on the project
  local:   with the session, and gone with it; .claude/agent-memory-local/NAME is told besides`,
		Example: "troupe memory\ntroupe memory show reviewer\ntroupe memory edit reviewer\ntroupe memory forget " +
			"reviewer",
		RunE: listMemories(c, &asJSON),
	}
	jsonFlag(cmd, &asJSON)
	list := &cobra.Command{Use: "list", Short: "List what agents have kept", Args: console.NoArgs,
		Example: "troupe memory list", RunE: listMemories(c, &asJSON)}
	jsonFlag(list, &asJSON)
	cmd.AddCommand(list, newMemoryShow(c), newMemoryEdit(c), newMemoryForget(c), run.NewDream(c))
	return cmd
}

func listMemories(c *console.Console, asJSON *bool) func(*cobra.Command, []string) error {
	return inSettings(c, func(ctx context.Context, a api.API, _ []string) error {
		found, err := a.Setup().Memories(ctx, wire.MemoryQuery{Cwd: c.Cwd})
		if err != nil {
			return err
		}
		if *asJSON {
			return jsonList(c, found)
		}
		return c.Memories(found)
	})
}

// memoryCommand is a command about one memory, and the query that its words and flags make.
func memoryCommand(c *console.Console, cmd *cobra.Command, run func(context.Context, api.API, wire.MemoryQuery) error,
) *cobra.Command {
	scope, of := "", ""
	cmd.Args = console.Args(1, 2)
	cmd.Flags().StringVar(&scope, "scope", "", "Which memory: user, project or local")
	cmd.Flags().StringVar(&of, "session", "", "The local memory of this session")
	cmd.RunE = inSettings(c, func(ctx context.Context, a api.API, args []string) error {
		q := wire.MemoryQuery{Cwd: c.Cwd, Agent: args[0], Scope: troupe.MemoryScope(scope), Session: of}
		if args[0] == "" {
			return console.Usage("the name is empty; is a variable not set?")
		}
		if len(args) > 1 {
			q.File = args[1]
		}
		return run(ctx, a, q)
	})
	return cmd
}

func newMemoryShow(c *console.Console) *cobra.Command {
	return memoryCommand(c, &cobra.Command{
		Use: "show NAME [FILE]", Short: "Print what agents of a type have kept",
		Long:    "Print MEMORY.md, or another file, of what agents of a type have kept, and name the others.",
		Example: "troupe memory show reviewer\ntroupe memory show reviewer habits.md --scope user",
	}, func(ctx context.Context, a api.API, q wire.MemoryQuery) error {
		q.File = cmp.Or(q.File, troupe.MemoryFile)
		found, err := a.Setup().Memories(ctx, q)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.Out, "%s\n\n%s\n", console.VisibleLine(filepath.Join(found[0].Folder, q.File)),
			console.Visible(strings.TrimRight(found[0].Text, "\n")))
		for _, name := range found[0].Files {
			if name != q.File && err == nil {
				_, err = fmt.Fprintf(c.Out, "\nalso: %s", console.VisibleLine(name))
			}
		}
		if len(found[0].Files) > 1 && err == nil {
			_, err = fmt.Fprintln(c.Out)
		}
		return err
	})
}

func newMemoryEdit(c *console.Console) *cobra.Command {
	return memoryCommand(c, &cobra.Command{
		Use: "edit NAME [FILE]", Short: "Change what agents of a type have kept",
		Long: `Open MEMORY.md, or another file, of what agents of a type have kept in your editor ($VISUAL or $EDITOR). With
--scope a memory is begun that is not there yet. What looks like a credential is not kept.`,
		Example: "troupe memory edit reviewer\ntroupe memory edit reviewer --scope user",
	}, func(ctx context.Context, a api.API, q wire.MemoryQuery) error {
		q.File = cmp.Or(q.File, troupe.MemoryFile)
		before, of := "", wire.Precondition{IfNew: true}
		switch found, err := a.Setup().Memories(ctx, q); {
		case err == nil:
			before, of = found[0].Text, wire.Precondition{IfMatch: found[0].ETag}
		case !errors.Is(err, troupe.ErrNotFound):
			return err
		}
		text, file, err := edited(ctx, c, before)
		if err != nil {
			return err
		}
		if text == before {
			_, err := fmt.Fprintln(c.Out, "Nothing was changed.")
			return errors.Join(err, os.RemoveAll(filepath.Dir(file)))
		}
		m, err := a.Setup().SetMemory(ctx, wire.MemoryChange{MemoryQuery: q, Precondition: of, Text: &text})
		if err != nil {
			c.Warn("What you wrote was not kept; it is in " + file + ".")
			return err
		}
		_, err = fmt.Fprintf(c.Out, "Kept in %s.\n", console.VisibleLine(filepath.Join(m.Folder, q.File)))
		return errors.Join(err, os.RemoveAll(filepath.Dir(file)))
	})
}

func newMemoryForget(c *console.Console) *cobra.Command {
	return memoryCommand(c, &cobra.Command{
		Use: "forget NAME [FILE]", Short: "Remove what agents of a type have kept",
		Long:    "Remove what agents of a type have kept, or one file of it. Agents at work have been told it already.",
		Example: "troupe memory forget reviewer\ntroupe memory forget reviewer habits.md",
	}, func(ctx context.Context, a api.API, q wire.MemoryQuery) error {
		m, err := a.Setup().SetMemory(ctx, wire.MemoryChange{MemoryQuery: q})
		if err == nil {
			_, err = fmt.Fprintf(c.Out, "Forgotten: %s\n", console.VisibleLine(filepath.Join(m.Folder, q.File)))
		}
		return err
	})
}

// edited is what a person makes of a text in their editor, and the file that holds it, in a folder of its own that is
// the caller's to remove.
func edited(ctx context.Context, c *console.Console, text string) (after, file string, err error) {
	editor, _ := c.Lookup("VISUAL")
	if editor == "" {
		editor, _ = c.Lookup("EDITOR")
	}
	if editor == "" {
		return "", "", console.Usage("no editor is set; set EDITOR, such as EDITOR=vi")
	}
	dir, err := os.MkdirTemp("", "troupe-memory-")
	if err != nil {
		return "", "", fmt.Errorf("make a folder for the editor: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	file = filepath.Join(dir, troupe.MemoryFile)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", "", fmt.Errorf("write a copy for the editor: %w", err)
	}
	// As git does: the words of EDITOR are the shell's, the file is one word more.
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, editor, file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", "", &troupe.UserError{Problem: fmt.Sprintf("the editor %q ended with an error: %v", editor, err),
			Hint: "Nothing was changed.", Code: troupe.ExitFailed, Err: err}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", "", fmt.Errorf("read what was edited: %w", err)
	}
	return string(data), file, nil
}
