package turn

import (
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Contents are the parts of a session's conversation as its next model call sends it, each kind and name once, in the
// order in which they first come. The system prompt and the tools are not among them.
func Contents(events []troupe.Event) []troupe.ContextPart {
	c := contents{at: make(map[part]int)}
	var covered int64
	refused := make(map[troupe.MailID]bool)
	for i := len(events) - 1; i >= 0; i-- {
		switch b := events[i].Body.(type) {
		case troupe.Compacted: // only the last one counts
			if covered == 0 {
				covered = b.Covers
				c.brief(b.Brief)
				c.blocks(troupe.ContextSummary, "", b.Blocks)
			}
		case troupe.HookRan:
			if refuses(b) {
				refused[b.Mail] = true
			}
		}
	}
	for _, e := range events {
		if e.Seq > covered {
			c.event(e, refused)
		}
	}
	return c.parts
}

type part struct {
	kind troupe.ContextKind
	name string
}

type contents struct {
	parts []troupe.ContextPart
	at    map[part]int
}

func (c *contents) add(kind troupe.ContextKind, name string, n int64) {
	if n == 0 {
		return
	}
	i, ok := c.at[part{kind, name}]
	if !ok {
		i = len(c.parts)
		c.at[part{kind, name}] = i
		c.parts = append(c.parts, troupe.ContextPart{Kind: kind, Name: name})
	}
	c.parts[i].Count++
	c.parts[i].Bytes += n
}

// blocks adds what stands in a message; what a model thought and called are kinds of their own.
func (c *contents) blocks(kind troupe.ContextKind, name string, blocks []troupe.Block) {
	for _, b := range blocks {
		switch {
		case b.Type == troupe.ImageBlock:
			c.add(troupe.ContextImage, "", size(b))
		case b.Type == troupe.ThinkingBlock:
			c.add(troupe.ContextThinking, "", int64(max(len(b.Text), len(b.Raw))))
		case b.Call != nil:
			c.add(troupe.ContextCall, b.Call.Name, int64(len(b.Call.Name)+len(b.Call.Input)))
		case b.Result != nil:
			c.blocks(kind, name, b.Result.Blocks)
		default:
			c.add(kind, name, size(b))
		}
	}
}

func (c *contents) event(e troupe.Event, refused map[troupe.MailID]bool) {
	switch b := e.Body.(type) {
	case troupe.Replied:
		c.blocks(troupe.ContextReply, "", b.Blocks)
	case troupe.ToolFinished:
		c.blocks(troupe.ContextResult, b.Name, b.Result.Blocks)
	case troupe.BudgetWarned:
		c.add(troupe.ContextNotice, "", int64(len(b.Text)))
	case troupe.MailDelivered:
		for _, m := range b.Mail {
			c.brief(m.Brief)
			switch {
			case m.Kind == troupe.MailTaskEnded:
				c.blocks(troupe.ContextEnd, "", mailBlocks(m))
			case m.Kind == troupe.MailNotice:
				c.blocks(troupe.ContextNotice, "", m.Blocks)
			case m.Kind.Words() && !refused[m.ID]:
				c.blocks(troupe.ContextPrompt, "", m.Blocks)
			}
		}
	}
}

// brief adds what a session is told of where it is.
func (c *contents) brief(b *troupe.Brief) {
	if b == nil {
		return
	}
	c.add(troupe.ContextPlace, "", int64(len(b.Place)+len(b.Workspace)))
	c.instructions(b.Instructions)
	c.add(troupe.ContextHolds, "", int64(len(b.Holds)))
	c.add(troupe.ContextSkills, "", int64(len(b.Skills)))
	c.add(troupe.ContextAgents, "", int64(len(b.Agents)))
	c.add(troupe.ContextNames, "", int64(len(b.Tools)))
	c.add(troupe.ContextMemory, "", int64(len(b.Memory)))
}

// instructionTag opens the text of a file of instructions, with the name of the file, quoted (instruction.File.Block).
const instructionTag = "<runtime-instructions file="

// instructions adds each file of them by its name; the words before the first stand with it.
func (c *contents) instructions(text string) {
	name, part := "", int64(0)
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, instructionTag); ok {
			if quoted, err := strconv.QuotedPrefix(rest); err == nil {
				if name != "" {
					c.add(troupe.ContextInstructions, name, part)
					part = 0
				}
				if name, err = strconv.Unquote(quoted); err != nil {
					name = quoted
				}
			}
		}
		part += int64(len(line))
	}
	c.add(troupe.ContextInstructions, name, part)
}
