package replay

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/troupe-dev/troupe"
)

// head is what stands before a conversation, as the player encodes it.
type head struct {
	Model     string `json:"model"`
	System    string `json:"system"`
	Tools     []tool `json:"tools"`
	MaxTokens int    `json:"max_tokens"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// volatile takes out of what is sent whatever differs from run to run by its nature. What is served from the recording
// is the same in any case; here is about what the runtime itself writes.
type volatile struct {
	folders  folders
	times    *regexp.Regexp
	clocks   *regexp.Regexp
	sections *regexp.Regexp
	progress *regexp.Regexp
}

func newVolatile(f folders) *volatile {
	return &volatile{
		folders: f,
		// 8 ms, 12.4 s, 3 min 20 s, and our own duration_ms.
		times:  regexp.MustCompile(`\b\d+(?:\.\d+)? ?(?:ms|s|min|h)\b(?: \d+ ?(?:ms|s|min)\b)*|\b(duration_ms\W{1,3})\d+`),
		clocks: regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?(?:Z\b|[+-]\d\d:?\d\d\b))?|\b\d\d:\d\d:\d\d\b`),
		// A child's words within are escaped, so they can neither open nor close one.
		sections: regexp.MustCompile(`(?s)<runtime-evidence>.*?</runtime-evidence>|<task-notification\b.*?</task-notification>|<system-reminder>.*?</system-reminder>`),
		// How far a task at work has come is where it is caught.
		progress: regexp.MustCompile(`\n[a-z_]+(?: for [a-z_]+)?; \d+ model repl(?:y|ies), \d+ tool uses?, \d+ tokens so far(?s:\n<agent-said>.*</agent-said>)?$|, \d+ turns?; started ` +
			`|"status":"(?:spawning|running)"|"model":"[^"]*","iterations":\d+,"tools_used":\d+\}$`),
	}
}

// message returns a copy without what is volatile. measured says of a result whether the
// runtime wrote it.
func (v *volatile) message(m troupe.Message, measured func(reply, call int) bool) troupe.Message {
	return troupe.Message{Role: m.Role, Blocks: v.blocks(m.Blocks, measured, false)}
}

func (v *volatile) blocks(in []troupe.Block, measured func(reply, call int) bool, ours bool) []troupe.Block {
	out := slices.Clone(in)
	for i := range out {
		b := &out[i]
		b.Text, b.Raw = v.text(b.Text, ours), v.folders.in(b.Raw)
		if b.Call != nil {
			c := *b.Call
			c.Input = v.folders.in(c.Input)
			b.Call = &c
		}
		if b.Result != nil {
			r := *b.Result
			r.Blocks = v.blocks(r.Blocks, measured, measured(r.Reply, r.Call))
			b.Result = &r
		}
	}
	return out
}

func (v *volatile) text(s string, ours bool) string {
	s = v.folders.in(surroundings(s))
	if ours {
		return v.moments(v.progress.ReplaceAllString(s, "\n"+mark("progress")))
	}
	if strings.Contains(s, "</") {
		s = v.sections.ReplaceAllStringFunc(s, v.moments)
	}
	return s
}

func (v *volatile) moments(s string) string {
	return v.clocks.ReplaceAllString(v.times.ReplaceAllString(s, "${1}"+mark("time")), mark("clock"))
}

// surroundings takes the machine, what it confines, whether somebody can be asked, the day and the state
// of the repository out of what a session is told about where it begins.
func surroundings(s string) string {
	if !strings.HasPrefix(s, "Environment:\n") {
		return s
	}
	// The folder that agents share is none of those that were there, and earlier versions told of none.
	lines := slices.DeleteFunc(strings.Split(s, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "- scratchpad: ")
	})
	for i, line := range lines {
		for _, name := range [...]string{"platform", "shell", "date", "git", "permissions", "commands"} {
			if strings.HasPrefix(line, "- "+name+": ") {
				lines[i] = "- " + name + ": " + mark(name)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// request is what a call sends, as far as it is compared.
type request struct {
	model    string
	system   string
	tools    []string
	messages []troupe.Message
	skipped  int // messages before these, which are the same
}

// differs compares two requests, both without what is volatile, and returns "" or a diff and
// where it begins.
func differs(then, now request) (diff, where string) {
	sameHead := then.model == now.model && then.system == now.system && slices.Equal(then.tools, now.tools)
	same := 0
	for same < min(len(then.messages), len(now.messages)) && equalMessages(then.messages[same], now.messages[same]) {
		same++
	}
	if sameHead && same == len(then.messages) && same == len(now.messages) {
		return "", ""
	}
	where = "before the conversation"
	if sameHead {
		where = fmt.Sprintf("from message %d on", then.skipped+same+1)
	}
	return unified(then.show(!sameHead, same), now.show(!sameHead, same)), where
}

// equalMessages leaves alone what no provider is sent for its content: how a provider named
// a call is the provider's business and comes from the recording anyway.
func equalMessages(a, b troupe.Message) bool {
	return a.Role == b.Role && slices.EqualFunc(a.Blocks, b.Blocks, equalBlocks)
}

func equalBlocks(a, b troupe.Block) bool {
	if (a.Result == nil) != (b.Result == nil) {
		return false
	}
	if a.Result != nil {
		x, y := a.Result, b.Result
		return x.Reply == y.Reply && x.Call == y.Call && x.IsError == y.IsError &&
			slices.EqualFunc(x.Blocks, y.Blocks, equalBlocks)
	}
	return reflect.DeepEqual(a, b)
}

// show writes a request for people, from the first message that differs on.
func (r request) show(withHead bool, from int) string {
	var b strings.Builder
	if withHead {
		fmt.Fprintf(&b, "model: %s\n", r.model)
		for _, t := range r.tools {
			fmt.Fprintf(&b, "tool: %s\n", t)
		}
		b.WriteString("system prompt:\n")
		indent(&b, r.system, "  ")
	}
	for i, m := range r.messages {
		if i < from {
			continue
		}
		fmt.Fprintf(&b, "message %d, %s:\n", r.skipped+i+1, m.Role)
		showBlocks(&b, m.Blocks, "  ")
	}
	return b.String()
}

func showBlocks(b *strings.Builder, blocks []troupe.Block, margin string) {
	for _, x := range blocks {
		switch {
		case x.Call != nil:
			fmt.Fprintf(b, "%scall %d.%d of %s:\n", margin, x.Call.Reply, x.Call.Index, x.Call.Name)
			indent(b, x.Call.Input, margin+"  ")
		case x.Result != nil:
			kind := "result"
			if x.Result.IsError {
				kind = "error"
			}
			fmt.Fprintf(b, "%s%s of call %d.%d:\n", margin, kind, x.Result.Reply, x.Result.Call)
			showBlocks(b, x.Result.Blocks, margin+"  ")
		case x.Image != nil:
			fmt.Fprintf(b, "%simage: %s, %d bytes\n", margin, x.Image.MediaType, len(x.Image.Data))
		default:
			fmt.Fprintf(b, "%s%s:\n", margin, x.Type)
			indent(b, x.Text, margin+"  ")
			indent(b, x.Raw, margin+"  ")
		}
	}
}

// wide is how long a line of a diff gets. What is longer goes on in the next line, so that
// no difference is hidden behind a cut.
const wide = 120

func indent(b *strings.Builder, text, margin string) {
	for line := range strings.Lines(text) {
		runes := []rune(strings.TrimRight(line, "\n"))
		for len(runes) > wide {
			b.WriteString(margin + string(runes[:wide]) + "↩\n")
			runes = runes[wide:]
		}
		b.WriteString(margin + string(runes) + "\n")
	}
}

const (
	contextLines = 3
	mostLines    = 100    // of a diff; the first difference is what people look for
	mostBytes    = 64_000 // of each side that are compared; they begin at the first difference
)

func unified(then, now string) string {
	then, now = fromDifference(then, now)
	out, err := udiff.ToUnified("as recorded", "as sent now", then, udiff.Lines(then, now), contextLines)
	if err != nil || out == "" {
		// Lines that look alike to the last letter: pictures, or what is not shown.
		return "(they differ in what is not text)\n"
	}
	lines := strings.SplitAfter(out, "\n")
	if len(lines) > mostLines+1 {
		more := len(lines) - 1 - mostLines
		out = strings.Join(lines[:mostLines], "") + fmt.Sprintf("… and %d more lines\n", more)
	}
	return out
}

// fromDifference leaves out what two long texts have in common at the beginning, but for a
// few lines, and what is far behind the first difference.
func fromDifference(a, b string) (string, string) {
	if len(a) <= mostBytes && len(b) <= mostBytes {
		return a, b
	}
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	start := n
	for range contextLines + 1 {
		start = strings.LastIndexByte(a[:start], '\n')
		if start < 0 {
			break
		}
	}
	start++
	return headOf(a[start:]), headOf(b[start:])
}

func headOf(s string) string {
	if len(s) <= mostBytes {
		return s
	}
	s = s[:mostBytes]
	return s[:strings.LastIndexByte(s, '\n')+1]
}
