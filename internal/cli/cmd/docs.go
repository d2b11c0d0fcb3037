package cmd

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/docs"
	"github.com/troupe-dev/troupe/internal/cli/console"
)

// document is one of those that came with this program.
type document struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

// newDocs makes the command.
func newDocs(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "docs [NAME]", Short: "Print the documents that came with this program",
		Long: `Print one of the documents that came with this program; without a name, list them. They are those of this
very version. The agent Guide answers from the same.`,
		Example: "troupe docs\ntroupe docs hooks",
		Args:    console.Args(0, 1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if all, err := documents(); err == nil && len(args) == 0 {
				for _, d := range all {
					names = append(names, d.Name)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := documents()
			switch {
			case err != nil:
				return err
			case len(args) > 0:
				return printDocument(c, all, args[0])
			case asJSON:
				return jsonList(c, all)
			}
			t := c.Table(console.Column{Title: "NAME"}, console.Column{Title: "WHAT"})
			for _, d := range all {
				t.Row(d.Name, d.Title)
			}
			return t.Write()
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// documents are those that there are, by name.
func documents() (out []document, err error) {
	files, err := fs.Glob(docs.Files, "*.md")
	if err != nil {
		return nil, fmt.Errorf("list the documents: %w", err)
	}
	for _, file := range files {
		text, err := docs.Files.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the document %s: %w", file, err)
		}
		title, _, _ := strings.Cut(string(text), "\n")
		out = append(out, document{strings.TrimSuffix(file, ".md"), strings.TrimLeft(title, "# ")})
	}
	return out, nil
}

// printDocument prints the one of a name, as people and messages write it.
func printDocument(c *console.Console, all []document, name string) error {
	want := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(name, "docs/"), ".md"))
	var names []string
	for _, d := range all {
		if d.Name == want {
			text, err := docs.Files.ReadFile(d.Name + ".md")
			if err != nil {
				return fmt.Errorf("read the document %s: %w", d.Name, err)
			}
			_, err = c.Out.Write(text)
			return err
		}
		names = append(names, d.Name)
	}
	out := &troupe.UserError{Problem: fmt.Sprintf("there is no document %q", name),
		Hint: "There are: " + strings.Join(names, ", ") + ".", Code: troupe.ExitUsage}
	if near := troupe.Nearest(want, names); near != "" {
		out.Hint = "Did you mean " + near + "? " + out.Hint
	}
	return out
}
