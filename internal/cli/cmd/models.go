package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newModels makes the command.
func newModels(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "models", Short: "List the models you can use, with windows and prices", Args: console.NoArgs,
		Long: `Lists the models of every provider that is configured: by a key in the environment
(ANTHROPIC_API_KEY, OPENAI_API_KEY), by OPENAI_BASE_URL, or under "providers" in the settings.
A server of your own is asked what it has. Prices are dollars per million tokens, from the
table that Troupe carries and your own models.yaml.`,
		Example: "troupe models\nOPENAI_BASE_URL=http://localhost:11434/v1 troupe models\ntroupe models --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.WithSettings(func(h *home.Home) error {
				list, err := h.API.Machine().Models(cmd.Context(), c.Cwd)
				if err != nil {
					return err
				}
				show := writeModels
				if asJSON {
					show = func(c *console.Console, l wire.ModelList) error { return c.JSON(l) }
				}
				if err := show(c, list); err != nil || len(list.Providers) > 0 {
					return err
				}
				return &console.Exit{Code: troupe.ExitUsage} // as a run without a provider ends
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func writeModels(c *console.Console, l wire.ModelList) error {
	for _, p := range l.Problems {
		c.Warn(p)
	}
	if len(l.Models) == 0 {
		text := "No provider is configured. `troupe -p` without one says what to do."
		if len(l.Providers) > 0 {
			text = fmt.Sprintf("No models can be listed. Configured: %s. "+
				"One that you know of: troupe -p --model %s/NAME", strings.Join(l.Providers, ", "), l.Providers[0])
		}
		_, err := fmt.Fprintln(c.Out, console.Line(text, 0))
		return err
	}
	aliases := make(map[string][]string)
	for alias, full := range l.Aliases {
		aliases[full] = append(aliases[full], alias)
	}
	type col = console.Column
	t := c.Table(col{Title: "MODEL"}, col{Title: "ALIAS", Spare: 1}, col{Title: "WINDOW", Spare: 2},
		col{Title: "OUTPUT", Spare: 4}, col{Title: "$ IN"}, col{Title: "$ CACHED", Spare: 3}, col{Title: "$ OUT"})
	for _, m := range l.Models {
		name := m.Name
		if name == l.Default {
			name += " (default)"
		}
		slices.Sort(aliases[m.Name])
		in, cached, out := "?", "?", "?"
		if m.Priced {
			in, cached, out = fmt.Sprintf("%.2f", m.Input), fmt.Sprintf("%.3f", m.CacheRead),
				fmt.Sprintf("%.2f", m.Output)
		}
		t.Row(console.Line(name, 60),
			console.Line(strings.Join(aliases[m.Name], " "), 0),
			tokensText(m.Window), tokensText(m.MaxOutput), in, cached, out)
	}
	return t.Write()
}

func tokensText(n int) string {
	if n == 0 {
		return "?"
	}
	return troupe.FormatTokens(int64(n))
}
