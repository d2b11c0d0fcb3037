package chat

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// machine decides what a person's lines and keys mean. It is pure: what happened goes in,
// what is to be done comes out.
type machine struct {
	skills          map[string]bool // the commands of files, in lower case
	terminal        bool            // somebody sits there; else the lines come from a pipe
	begun           bool            // there is a tree
	working         bool            // the main agent has a run under way
	interrupts      int             // Ctrl-C, one after the other
	interruptedLine string          // what stood on the line at the first of them
	left            int             // commands at work that would end with the conversation
	asks            []wire.Request
	shown           string          // the request that was shown last
	said            []troupe.Said   // to its questions so far
	settled         map[string]bool // requests that were answered here
	mark            int             // grows with each question that is shown
	dialog          dialog
	proposed        string // the words of that question
	gone
	now    time.Time // when it happens what the machine is told of
	ending bool      // no more messages: the tree is waited for
	beside bool      // an agent or a command is shown, and not the conversation
	listening
	returned time.Time // when the conversation was shown again because that had ended
}

// listening is whom words are for.
type listening struct {
	to       string // the agent that is shown, which has what is sent; "" is the main agent
	attached bool   // it alone is shown, and nothing of its tree depends on this process
}

// gone is what is known of requests that went away.
type gone struct {
	closing map[string]string // why, if it was something done here
	went    string            // the path of one that went away unanswered here
	wentAt  time.Time         // and when
}

// act is something to be done.
type act struct {
	kind    actKind
	text    string // of a message or of words to show; arguments of a command
	name    string // of a command
	request string
	answer  wire.Answer
	stop    wire.Stop
}

type actKind int

const (
	actSay     actKind = iota // show text
	actSend                   // a message for the main agent
	actCommand                // name and its arguments in text
	actAnswer                 // a request
	actStop                   // the main agent's run
	actShow                   // the request at the head of the queue, with a bell
	actCount                  // find out what is at work, and tell counted
	actWait                   // for the end of the tree, and tell ended
	actLeave                  // end, whatever is at work
	actClear                  // empty the line
	actUndo                   // carry out what /undo proposed
	actBack                   // show the conversation again, and no agent beside it
)

func say(format string, args ...any) act {
	return act{kind: actSay, text: fmt.Sprintf(format, args...)}
}

// prompt is what stands before the line.
func (m *machine) prompt() string {
	switch {
	case m.dialog == dialogQuit:
		return "w/s/l + Enter? "
	case m.dialog != dialogNone:
		return "y/n + Enter? "
	case len(m.asks) > 0 && m.asks[0].Kind == troupe.RequestQuestion:
		return "answer? "
	case len(m.asks) > 0:
		return strings.Join(keysOf(m.asks[0]), "/") + "/? + Enter? "
	case m.ending:
		return "… "
	case m.working:
		return "» "
	}
	return "> "
}

// ready reports whether a line that was written ahead may be read now: it is meant for what
// comes after the line before it.
func (m *machine) ready() bool { return m.terminal || !m.working || len(m.asks) > 0 }

// line is a line that was entered. mark is the question that was shown last when it was
// begun; -1 if that cannot be known.
func (m *machine) line(text string, mark int) []act {
	m.interrupts = 0
	word := strings.ToLower(strings.TrimSpace(text))
	if m.dialog != dialogNone {
		if mark >= 0 && mark < m.mark {
			return []act{say("That was begun before the question; it is not taken as an answer to it.")}
		}
		return m.decide(word)
	}
	if len(m.asks) > 0 {
		if acts, ok := m.reply(text, word, mark); ok {
			return acts
		}
	}
	switch {
	case word == "":
		return nil
	case word == "?" && m.terminal:
		text = "/help" // to a model it would say nothing
	}
	if hint := ofOthers(text); hint != "" && m.terminal && !m.ending {
		return []act{say("%s", hint)}
	}
	if m.ofFile(text) && !m.ending {
		return m.sends(text)
	}
	if name, args, ok := parseCommand(text); ok {
		return m.command(name, args)
	}
	if m.ending {
		return []act{say("The end is waited for; Ctrl-C leaves without waiting.")}
	}
	if m.tooLate(word) {
		return []act{say("Not sent: the request of %s was gone when %q came. Enter it again to send it to %s.", m.went,
			word, m.listener())}
	}
	return m.sends(unescape(text))
}

// ofOthers says what to do instead of what other programs have at the beginning of a line; "" if that is not meant. A
// blank before it, or another line below, makes it a message.
func ofOthers(text string) string {
	const nothing = " Nothing was sent; a blank before it sends it as it is."
	switch {
	case strings.Contains(text, "\n"):
	case len(text) > 1 && text[0] == '!':
		return "No command runs from here: ask the agent to run it, or use another terminal." + nothing
	case strings.HasPrefix(text, "# "):
		return "No note is taken from here: ask the agent to write it into AGENTS.md, or use `troupe memory`." + nothing
	}
	return ""
}

// sends sends a message, and reminds of the question that is open.
func (m *machine) sends(text string) []act {
	send := act{kind: actSend, text: text}
	if len(m.asks) > 0 {
		return []act{send, m.waits()}
	}
	return []act{send}
}

// lateAnswer is how long after a request went away a lone answer is taken for one to it.
const lateAnswer = 2 * time.Second

// tooLate reports whether a word was meant as the answer to a request that has just gone away. To a model it
// would be a message that means something else.
func (m *machine) tooLate(word string) bool {
	if !m.terminal || len(m.asks) > 0 || m.wentAt.IsZero() || m.now.Sub(m.wentAt) >= lateAnswer {
		return false
	}
	switch word {
	case "y", "yes", "n", "no", "s", "f", "a":
		return true
	}
	return false
}

// waits says that a line did not answer the request that is shown, and what does.
func (m *machine) waits() act {
	words := "your words or n"
	if keys := keysOf(m.asks[0]); len(keys) > 0 {
		words = strings.Join(keys[:len(keys)-1], ", ") + " or n"
	}
	return say("Sent to %s. The request of %s is still open: answer with %s "+
		"(n and words: no, and why), or ? to see it again.", m.listener(), m.asks[0].Path, words)
}

// listener names the agent that words go to.
func (m *machine) listener() string { return cmp.Or(m.to, "the main agent") }

// reply reads a line as the answer to the request that is shown. Anything else than an
// answer is a message as ever.
func (m *machine) reply(text, word string, mark int) ([]act, bool) {
	ask := m.asks[0]
	a := wire.Answer{}
	if q, ok := questionOf(ask, len(m.said)); ok {
		if said, problem, taken := chosen(q, text, word); taken {
			return m.tellQuestion(ask, said, problem, mark)
		}
	}
	switch {
	case word == "y" || word == "yes":
		a.Allow = true
	case word == "e" && ask.Kind == troupe.RequestPlan:
		a.Allow, a.Mode = true, troupe.ModeAcceptEdits
	case word == "s" || word == "session" || word == "a" || word == "always":
		if ask.Grant == "" {
			return []act{say("There is no rule that could allow this from now on; y allows it once.")}, true
		}
		if word[0] == 'a' && ask.NoAlways {
			return []act{say("What is kept for later sessions takes the right admin here; s allows it for this one.")},
				true
		}
		a.Allow, a.Session, a.Always = true, true, word[0] == 'a'
	case word == "f" || word == "folder":
		if ask.Wider == "" {
			return []act{say("There is no rule about a folder that could allow this; y allows it once.")}, true
		}
		a.Allow, a.Session, a.Wider = true, true, true
	case word == "v":
		return []act{{kind: actShow, name: "whole"}}, true
	case word == "?":
		return []act{{kind: actShow, name: "explained"}}, true
	case word == "n" || word == "no":
	case hasWord(word, "n") || hasWord(word, "no"):
		trimmed := strings.TrimSpace(text)
		a.Note = strings.TrimLeft(trimmed[strings.IndexAny(trimmed, " ,:"):], " ,:")
	case ask.Kind == troupe.RequestQuestion && word != "" && !strings.HasPrefix(word, "/"):
		a.Allow, a.Note = true, text
	default:
		return nil, false
	}
	if mark >= 0 && mark < m.mark {
		return []act{lateFor()}, true
	}
	return m.settle(ask, a), true
}

// settle answers the request that is shown.
func (m *machine) settle(ask wire.Request, a wire.Answer) []act {
	m.settled[ask.ID] = true
	m.asks = m.asks[1:]
	return append([]act{{kind: actAnswer, request: ask.ID, answer: a}}, m.next()...)
}

func hasWord(s, word string) bool {
	rest, ok := strings.CutPrefix(s, word)
	return ok && rest != "" && strings.ContainsRune(" ,:", rune(rest[0]))
}

// next shows the request at the head of the queue, unless it is shown already.
func (m *machine) next() []act {
	if len(m.asks) == 0 {
		m.shown = ""
		return nil
	}
	if m.asks[0].ID == m.shown {
		return nil
	}
	m.shown, m.said = m.asks[0].ID, nil
	m.mark++
	return []act{{kind: actShow}}
}

// ofClients says once of each request that a program answers, and not a person, what waits for it, and returns the
// others: those are asked, and none of them has to wait for a program.
func (m *machine) ofClients(open []wire.Request) (acts []act, rest []wire.Request) {
	for _, r := range open {
		if r.Kind != troupe.RequestTool {
			rest = append(rest, r)
			continue
		}
		if !m.settled[r.ID] {
			m.settled[r.ID] = true
			acts = append(acts, say("%s waits for the program that began the session to carry out %s, for %s at the "+
				"most. In its place: troupe answer %s --text RESULT, or deny.", console.Line(r.Path, 80),
				console.Line(r.Action, 200), console.Duration(max(0, r.Until.Sub(m.now)).Milliseconds()), r.ID))
		}
	}
	return acts, rest
}

// requests says which requests are open now, the oldest first.
func (m *machine) requests(open []wire.Request) []act {
	if m.settled == nil {
		m.settled = make(map[string]bool)
	}
	acts, open := m.ofClients(open)
	byID := make(map[string]wire.Request, len(open))
	for _, r := range open {
		byID[r.ID] = r
	}
	var queue []wire.Request
	for _, r := range m.asks {
		if now, ok := byID[r.ID]; ok {
			queue = append(queue, now)
			delete(byID, r.ID)
		} else if r.ID == m.shown {
			acts = append(acts, say("The request of %s %s.", r.Path,
				cmp.Or(m.closing[r.ID], "was answered elsewhere, or is not needed any more")))
			m.went, m.wentAt = r.Path, m.now
		}
	}
	for _, r := range open {
		if _, fresh := byID[r.ID]; fresh && !m.settled[r.ID] {
			queue = append(queue, r)
		}
	}
	m.asks = queue
	if !m.working {
		// What is open by now was not closed by the stop.
		maps.DeleteFunc(m.closing, func(_, why string) bool { return why == closedByStop })
	}
	if m.ending && !m.terminal {
		return append(acts, m.refuse()...)
	}
	return append(acts, m.next()...)
}

// refuse denies what is asked when nobody is there to answer.
func (m *machine) refuse() []act {
	var acts []act
	for _, r := range m.asks {
		m.settled[r.ID] = true
		acts = append(acts, act{kind: actAnswer, request: r.ID, answer: wire.Answer{Note: "the conversation was left"}})
	}
	m.asks, m.shown = nil, ""
	return acts
}

// command begins a command. Those about the conversation need one.
func (m *machine) command(name, args string) []act {
	full, problem := findCommand(name)
	if problem != "" {
		return []act{say("%s", problem)}
	}
	switch c := commandNamed(full); {
	case c.run == nil:
		return m.quit()
	case m.attached && !c.attached:
		return []act{say("/%s is for the conversation with the main agent; /help lists what there is here.", full)}
	case m.ending && !c.late:
		return []act{say("The end is waited for; Ctrl-C leaves without waiting.")}
	case !m.begun && !c.early:
		return []act{say("Nothing has begun yet: say what is to be done.")}
	}
	return []act{{kind: actCommand, name: full, text: args}}
}

// quit ends the conversation, after a question if something is at work.
func (m *machine) quit() []act {
	if !m.begun || m.ending || m.attached {
		return []act{{kind: actLeave}}
	}
	if !m.terminal {
		m.ending = true
		return append(m.refuse(), act{kind: actWait})
	}
	return []act{{kind: actCount}}
}

// running says whether the main agent is at work. That a run has ended takes nothing back of
// what was said of the next Ctrl-C; one that begins may be stopped by it.
func (m *machine) running(on bool) {
	if m.working = on; on {
		m.interrupts, m.closing = 0, nil
	}
}

// interrupt is Ctrl-C; text is what stands on the line. The first one stops the turn, or
// empties the line; the second quits.
func (m *machine) interrupt(text string) []act {
	if strings.TrimSpace(text) != "" && text != m.interruptedLine {
		m.interrupts = 0 // something was typed since
	}
	if m.interrupts++; m.interrupts == 1 {
		m.interruptedLine = text
	}
	switch {
	case m.ending || m.dialog == dialogQuit || m.attached && (m.interrupts > 1 || strings.TrimSpace(text) == ""):
		return []act{{kind: actLeave}}
	case m.attached:
		return []act{{kind: actClear}}
	case m.dialog == dialogUndo || m.dialog == dialogRedo:
		return m.decide("no")
	case m.beside:
		m.interrupts = 0
		return []act{{kind: actBack}}
	case m.interrupts == 1 && m.justReturned():
		m.interrupts = 0
		return []act{say("What was shown had just ended, and nothing was stopped. Once more stops the turn.")}
	case m.interrupts > 1:
		m.interrupts = 0
		return m.quit()
	case m.working:
		m.closes(closedByStop, "")
		return []act{say("Stopping. Once more quits."), {kind: actStop, stop: wire.Stop{Now: true}}}
	case strings.TrimSpace(text) != "":
		return []act{{kind: actClear}}
	}
	return []act{say("Once more quits.")}
}

// closedByStop is why a request goes away when the turn that asks is stopped.
const closedByStop = "was closed with the turn that you stopped"

// escape is the Esc key. It stops the turn, and never ends the conversation.
func (m *machine) escape() []act {
	switch {
	case m.attached && m.working:
		return []act{say("Nothing was stopped: /stop stops %s, Ctrl-D detaches.", m.to)}
	case m.attached:
	case m.dialog == dialogUndo || m.dialog == dialogRedo:
		return m.decide("no")
	case m.dialog == dialogQuit:
		m.dialog = dialogNone
		return []act{say("Going on.")}
	case m.beside:
		return []act{{kind: actBack}}
	case m.working && m.justReturned():
		return []act{say("What was shown had just ended, and nothing was stopped. Once more stops the turn.")}
	case m.working && !m.ending:
		m.closes(closedByStop, "")
		return []act{say("Stopping."), {kind: actStop, stop: wire.Stop{Now: true}}}
	}
	return nil
}

// closes notes why the open requests that a mode would allow go away, or all of them without one, and returns the
// path of the first.
func (m *machine) closes(why string, mode troupe.Mode) (path string) {
	if m.closing == nil {
		m.closing = make(map[string]string)
	}
	for _, r := range m.asks {
		if mode == "" || r.Mode == mode {
			path, m.closing[r.ID] = cmp.Or(path, r.Path), why
		}
	}
	return path
}

// answered notes of a request that is open here by whom it was answered elsewhere.
func (m *machine) answered(id, by string) {
	if m.closing == nil {
		m.closing = make(map[string]string)
	}
	open := slices.ContainsFunc(m.asks, func(r wire.Request) bool { return r.ID == id })
	if open && by != "" && m.closing[id] == "" {
		m.closing[id] = "was answered by " + by
	}
}

// justReturned reports, once, that a key was meant for what was shown beside the conversation and has just ended.
func (m *machine) justReturned() bool {
	just := !m.returned.IsZero() && m.now.Sub(m.returned) < lateAnswer
	m.returned = time.Time{}
	return just
}

// background is Ctrl-B: what is waited for goes on in the background, and what is shown goes back to it.
func (m *machine) background() []act {
	if m.beside {
		return []act{{kind: actBack}}
	}
	if !m.begun || !m.working || m.ending || m.attached {
		return nil
	}
	return []act{{kind: actCommand, name: "background"}}
}

// eof is Ctrl-D, or the end of what was piped in.
func (m *machine) eof() []act {
	if m.dialog == dialogQuit {
		return []act{{kind: actLeave}}
	}
	m.dialog = dialogNone
	return m.quit()
}
