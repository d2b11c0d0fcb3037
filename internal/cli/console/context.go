package console

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Context says what stands in the context of a session, by where it comes from.
func (c *Console) Context(x wire.Context) error {
	head := fmt.Sprintf("%s · %s · %s tokens", Line(cmp.Or(x.Session.Path, x.Session.Name), 0), Model(x.Session.Model),
		troupe.FormatTokens(x.Tokens))
	if x.Window > 0 {
		head += fmt.Sprintf(", %s of the model's window of %s", percent(x.Tokens, x.Window),
			troupe.FormatTokens(x.Window))
	}
	fmt.Fprintln(c.Out, head)
	t := c.Table(Column{Title: "SOURCE"}, Column{Title: "COUNT", Spare: 2}, Column{Title: "BYTES", Spare: 3},
		Column{Title: "TOKENS"}, Column{Title: "SHARE", Spare: 1})
	if err := contextParts(t, x, x.Parts); err != nil {
		return err
	}
	fmt.Fprintln(c.Out, "Providers count the whole; the parts are shares of it by their bytes.")
	return nil
}

// Told says what of the context of a session are instructions, file by file, and what agents of its type have kept.
func (c *Console) Told(x wire.Context) error {
	told := slices.DeleteFunc(slices.Clone(x.Parts), func(p troupe.ContextPart) bool {
		return p.Kind != troupe.ContextInstructions && p.Kind != troupe.ContextMemory
	})
	who := Line(cmp.Or(x.Session.Path, x.Session.Name), 0)
	if len(told) == 0 {
		return c.Say(who + " was told no instructions and no memory. `troupe docs agents` says where they stand.")
	}
	var sum int64
	for _, p := range told {
		sum += p.Tokens
	}
	fmt.Fprintf(c.Out, "%s was told %s tokens of instructions and memory\n", who, troupe.FormatTokens(sum))
	t := c.Table(Column{Title: "SOURCE"}, Column{Title: "COUNT", Spare: 4}, Column{Title: "BYTES", Spare: 3},
		Column{Title: "TOKENS", Spare: 1}, Column{Title: "SHARE", Spare: 2}).Whole()
	return contextParts(t, x, told)
}

// contextParts lists some of what stands in a context.
func contextParts(t *Table, x wire.Context, parts []troupe.ContextPart) error {
	for _, p := range parts {
		if p.Kind == troupe.ContextInstructions && p.Name != "" {
			p.Name = t.c.Place(p.Name)
			if room := t.c.room(); room > 0 {
				p.Name = Shorten(Line(p.Name, 0), max(room-len("instructions "), 20))
			}
		}
		t.Row(contextSource(p), p.Count, p.Bytes, troupe.FormatTokens(p.Tokens), percent(p.Bytes, x.Bytes))
	}
	return t.Write()
}

func percent(n, of int64) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

// contextSource is where a part comes from, in words.
func contextSource(p troupe.ContextPart) string {
	name := Line(p.Name, 0)
	switch p.Kind {
	case troupe.ContextSystem:
		return "system prompt"
	case troupe.ContextTools:
		if name != "" {
			return "tools of the MCP server " + name
		}
		return "tools"
	case troupe.ContextParent:
		return "its parent's conversation"
	case troupe.ContextPlace:
		return "machine and folder"
	case troupe.ContextInstructions:
		return "instructions " + name
	case troupe.ContextHolds:
		return "permissions"
	case troupe.ContextSkills:
		return "list of skills"
	case troupe.ContextAgents:
		return "list of agents"
	case troupe.ContextMemory:
		return "what its type has kept (memory)"
	case troupe.ContextNames:
		return "names of tools"
	case troupe.ContextSummary:
		return "summary of what was before"
	case troupe.ContextPrompt:
		return "prompts and messages"
	case troupe.ContextReply:
		return "replies"
	case troupe.ContextThinking:
		return "thinking"
	case troupe.ContextCall:
		return "calls of " + name
	case troupe.ContextResult:
		return "results of " + name
	case troupe.ContextEnd:
		return "ends of agents and commands"
	case troupe.ContextNotice:
		return "notices"
	case troupe.ContextImage:
		return "pictures"
	}
	return string(p.Kind)
}
