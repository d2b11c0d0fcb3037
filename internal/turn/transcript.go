package turn

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe"
)

// Transcript turns a log into the messages a model is sent. It holds the content of events
// until a seal has settled their order, and forgets it then.
type Transcript struct {
	content map[int64]troupe.Body
	// Opening stands before all else that the first seal covers: in a fork, the results of its parent's calls.
	Opening []troupe.Block
}

// Add takes in one event. For a seal it returns the messages whose content the seal
// covers for the first time, for every other event nothing.
func (t *Transcript) Add(e troupe.Event) ([]troupe.Message, error) {
	switch b := e.Body.(type) {
	case troupe.Replied, troupe.ToolFinished, troupe.MailDelivered, troupe.BudgetWarned:
		if t.content == nil {
			t.content = make(map[int64]troupe.Body)
		}
		t.content[e.Seq] = b
	case troupe.HookRan:
		t.refuse(b)
	case troupe.Compacted:
		// What the summary covers will not be asked for again.
		t.Opening = nil
		for seq := range t.content {
			if seq <= b.Covers {
				delete(t.content, seq)
			}
		}
		if t.content == nil {
			t.content = make(map[int64]troupe.Body)
		}
		t.content[e.Seq] = b
	case troupe.CallSealed:
		if !b.Compact {
			return t.seal(e, b.Refs)
		}
	}
	return nil, nil
}

// refuse forgets words that a hook has refused.
func (t *Transcript) refuse(b troupe.HookRan) {
	if !refuses(b) {
		return
	}
	for seq, body := range t.content {
		if d, ok := body.(troupe.MailDelivered); ok {
			t.content[seq] = without(d, func(m troupe.MailID) bool { return m == b.Mail })
		}
	}
}

func (t *Transcript) seal(e troupe.Event, refs []int64) ([]troupe.Message, error) {
	out, err := t.Peek(e, refs)
	if err == nil {
		for _, ref := range refs {
			delete(t.content, ref)
		}
		t.Opening = nil
	}
	return out, err
}

// Peek returns what a seal of these events would, and forgets nothing.
func (t *Transcript) Peek(e troupe.Event, refs []int64) ([]troupe.Message, error) {
	var out []troupe.Message
	user := slices.Clip(t.Opening)
	for _, ref := range refs {
		body, ok := t.content[ref]
		if !ok {
			return nil, fmt.Errorf("session %s: event %d seals event %d, which has no content left", e.Session, e.Seq,
				ref)
		}
		switch b := body.(type) {
		case troupe.Replied:
			if len(b.Blocks) > 0 {
				out = append(out, troupe.Message{Role: troupe.Assistant, Blocks: b.Blocks})
			}
		case troupe.ToolFinished:
			r := b.Result
			user = append(user, troupe.Block{Type: troupe.ResultBlock, Result: &r})
		case troupe.MailDelivered:
			for _, m := range b.Mail {
				user = append(user, mailBlocks(m)...)
			}
		case troupe.BudgetWarned:
			user = append(user, troupe.Text(reminder(b.Text)))
		case troupe.Compacted:
			if b.Brief != nil {
				user = append(user, b.Brief.Blocks()...)
			}
			user = append(user, b.Blocks...)
		}
	}
	if len(user) > 0 {
		out = append(out, troupe.Message{Role: troupe.User, Blocks: user})
	}
	return out, nil
}

// mailBlocks is how mail appears in a conversation. The words of a person or a parent
// stand as they are; what a child says is wrapped, with where it comes from.
func mailBlocks(m troupe.Mail) []troupe.Block {
	switch m.Kind {
	case troupe.MailTaskEnded:
		if m.Ended != nil {
			return []troupe.Block{troupe.Text(RenderNotification(*m.Ended))}
		}
	case troupe.MailMonitor:
		if m.Heard != nil {
			return []troupe.Block{troupe.Text(renderHeard(*m.Heard))}
		}
	case troupe.MailNotice:
		text := troupe.JoinText(m.Blocks)
		switch {
		case m.Brief != nil && len(m.Brief.About) > 0: // it has marks of the runtime's own, and cannot close them
			return []troupe.Block{troupe.Text("About files that you have read or written:\n" + m.Brief.String())}
		case m.Brief != nil:
			text = strings.TrimSpace("This holds from now on:\n" + m.Brief.String() + text)
		}
		return []troupe.Block{troupe.Text(reminder(text))}
	case troupe.MailPrompt:
		if m.Brief != nil {
			return append(m.Brief.Blocks(), m.Blocks...)
		}
		return m.Blocks
	case troupe.MailMessage:
		return renderMessage(m)
	case troupe.MailStop, troupe.MailAnswer, troupe.MailGrant, troupe.MailModel, troupe.MailCompact,
		troupe.MailFork, troupe.MailBoard:
	}
	return nil
}

// Verbatim returns the words of people and agents in these events as they stand in a
// conversation, at most about limit bytes of them: what does not fit is cut, and says so.
func Verbatim(events []troupe.Event, limit int64) []troupe.Block {
	var out []troupe.Block
	for _, e := range events {
		b, ok := e.Body.(troupe.MailDelivered)
		for i := 0; ok && i < len(b.Mail); i++ {
			if b.Mail[i].Kind != troupe.MailPrompt {
				continue
			}
			for _, block := range b.Mail[i].Blocks {
				if block.Type == troupe.TextBlock {
					text, cut := Cap(block.Text, int(max(0, limit)))
					if cut > 0 {
						text += fmt.Sprintf("\n[%d more bytes are in the session's log]", cut)
					}
					block.Text = text
				}
				limit -= size(block)
				out = append(out, block)
			}
		}
	}
	return out
}

// reminder is the runtime's own word in a conversation.
func reminder(text string) string {
	return troupe.Quote("system-reminder", text)
}

// What of a child its parent is shown, at most. All of it stays in the child's log.
const (
	// MaxResult is how many bytes of its words.
	MaxResult   = 30_000
	maxError    = 2_000
	maxValue    = 200 // of a path, a command, a reason
	maxFiles    = 40
	maxCommands = 40
	maxRefusals = 10
)

// RenderOutcome is how the end of a child appears to its parent: the child's words, marked
// as such, and beside them what the runtime measured. Words that look like the markers are
// escaped, and every measured value stands on one line, so that a child can neither forge
// evidence nor end its own quotation.
func RenderOutcome(o troupe.Outcome) string {
	if o.Vocabulary == troupe.VocabularySubagents {
		return renderSubagentResult(o)
	}
	var b strings.Builder
	b.WriteString(warning(o))
	fmt.Fprintf(&b, "<agent-result agent=%q type=%q id=%q status=%q%s>\n", attr(o.Name), attr(o.Type), o.Session,
		o.Status, form(o))
	text, cut := Cap(o.Result, MaxResult)
	switch {
	case text != "":
		b.WriteString(troupe.Escape(text))
		b.WriteByte('\n')
	case o.Status == troupe.Completed:
		b.WriteString("(it ended without a final text)\n")
	}
	b.WriteString(rest(o, text, cut))
	b.WriteString("</agent-result>\n")
	renderMeasured(&b, o)
	return b.String()
}

// renderMeasured is what the runtime says beside the words of an agent.
func renderMeasured(b *strings.Builder, o troupe.Outcome) {
	renderVerified(b, o.Verified)
	b.WriteString("<runtime-evidence>\n")
	if o.Error != "" {
		fmt.Fprintf(b, "error: %s\n", value(o.Error, maxError))
	}
	renderEvidence(b, o.Evidence)
	renderWorkspace(b, o.Workspace)
	renderHanded(b, o.Handed)
	fmt.Fprintf(b, "usage: %d tokens, %d tool uses, %d ms\n</runtime-evidence>",
		o.Tally.Usage.Total(), o.Tally.ToolUses, o.DurationMS)
}

// form says that the result is the object that was asked for.
func form(o troupe.Outcome) string {
	if o.Structured == nil {
		return ""
	}
	return " format=\"json\""
}

// rest says where the words of a task can be read on that did not fit behind those which are shown.
func rest(o troupe.Outcome, shown string, cut int) string {
	switch {
	case cut == 0:
		return ""
	case !o.Kind.OfSession(): // what is shown of a command is its beginning and its end
		return fmt.Sprintf("[%d more bytes are in the output file]\n", cut)
	case o.Output == "":
		return fmt.Sprintf("[%d more bytes of its final text are in its log]\n", cut)
	}
	return fmt.Sprintf("[%d more bytes. All of it is in %s: Read goes on from here with offset %d and a limit of "+
		"lines]\n",
		cut, value(o.Output, maxError), strings.Count(shown, "\n")+1)
}

// renderVerified are the words of the agent that checked the work, marked as such.
func renderVerified(b *strings.Builder, v *troupe.Verified) {
	if v == nil || v.Text == "" {
		return
	}
	b.WriteString(warning(troupe.Outcome{Handed: troupe.Handed{Flags: v.Flags}}))
	fmt.Fprintf(b, "<verify-report agent=%q id=%q verdict=%q>\n%s\n</verify-report>\n", attr(v.Name), v.Session,
		cmp.Or(v.Verdict, "none"), troupe.Escape(strings.TrimSpace(v.Text)))
}

// renderHanded is what the runtime has to say of a result beside what it measured.
func renderHanded(b *strings.Builder, h troupe.Handed) {
	if v := h.Verified; v != nil && v.Verdict != "" {
		fmt.Fprintf(b, "verified by agent %s in a folder of its own: %s\n", value(v.Name, maxValue), v.Verdict)
		for _, c := range v.Commands {
			fmt.Fprintf(b, "it ran: %s → exit %d\n", value(c.Command, maxValue), c.ExitCode)
		}
	} else if v != nil {
		fmt.Fprintf(b, "not verified: %s\n", value(v.Why, maxError))
	}
	if h.Unchecked != "" {
		fmt.Fprintf(b, "not checked by a model: %s\n", value(h.Unchecked, maxError))
	}
	for _, name := range h.Stopped {
		fmt.Fprintf(b, "command in the background, ended with the agent: %s\n", value(name, maxValue))
	}
}

// RenderMeasured is evidence as whoever reads a result is told it.
func RenderMeasured(e troupe.Evidence) string {
	var b strings.Builder
	renderEvidence(&b, e)
	return b.String()
}

func renderEvidence(b *strings.Builder, e troupe.Evidence) {
	for _, f := range e.Files[:min(len(e.Files), maxFiles)] {
		what := "written"
		if f.Gone {
			what = "removed"
		}
		lines := fmt.Sprintf("+%d -%d lines", f.Added, f.Removed)
		if f.Uncounted {
			lines = "by a command"
		}
		fmt.Fprintf(b, "file %s: %s (%s)\n", what, value(f.Path, maxValue), lines)
	}
	more(b, max(0, len(e.Files)-maxFiles)+e.More, "files written")
	for _, c := range e.Commands[:min(len(e.Commands), maxCommands)] {
		fmt.Fprintf(b, "command: %s → exit %d", value(c.Command, maxValue), c.ExitCode)
		if c.Tests != nil {
			fmt.Fprintf(b, "; %s: %d passed, %d failed", value(c.Tests.Runner, maxValue), c.Tests.Passed,
				c.Tests.Failed)
		}
		b.WriteByte('\n')
	}
	more(b, len(e.Commands)-maxCommands, "commands")
	for _, d := range e.Denied[:min(len(e.Denied), maxRefusals)] {
		fmt.Fprintf(b, "denied: %s: %s\n", value(d.Tool, maxValue), value(d.Why, maxValue))
	}
	more(b, len(e.Denied)-maxRefusals, "denied calls")
	if e.Unseen > 0 {
		fmt.Fprintf(b, "what %d of its calls changed is not known: the runtime does not see it\n", e.Unseen)
	}
	if len(e.Files)+len(e.Commands) == 0 {
		b.WriteString("no files written by its tools, no commands run\n")
	}
}

func more(b *strings.Builder, n int, what string) {
	if n > 0 {
		fmt.Fprintf(b, "and %d more %s\n", n, what)
	}
}

// value is text from elsewhere as part of one line of evidence.
func value(s string, n int) string {
	s, cut := Cap(s, n)
	s = troupe.Escape(oneLine(s))
	if cut > 0 {
		s += "…"
	}
	return s
}

func attr(s string) string { return html.EscapeString(oneLine(s)) }

// oneLine joins lines and takes out what cannot be seen.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || troupe.Unseen(r) }),
		" ")
}

// Cap cuts s to at most n bytes at a rune's edge and returns how many were left out.
func Cap(s string, n int) (string, int) {
	if len(s) <= n {
		return s, 0
	}
	end := n
	for end > 0 && s[end]&0xC0 == 0x80 {
		end--
	}
	return s[:end], len(s) - end
}
