package chat

import (
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// dialog is a question of our own.
type dialog int

const (
	dialogNone dialog = iota
	dialogQuit
	dialogUndo
	dialogRedo
)

// decide answers a question of our own.
func (m *machine) decide(word string) []act {
	if word == "?" {
		return []act{say("%s", m.proposed)}
	}
	was := m.dialog
	m.dialog = dialogNone
	switch yes := word == "y" || word == "yes"; {
	case was == dialogQuit:
	case yes:
		return []act{{kind: actUndo}}
	case was == dialogRedo:
		return []act{say("Nothing was redone.")}
	default:
		return []act{say("Nothing was undone.")}
	}
	switch word {
	case "w", "wait":
		m.ending = true
		leaves := "Ctrl-C leaves them to be resumed."
		if m.left > 0 {
			leaves = "Ctrl-C leaves, and ends commands."
		}
		return []act{say("Waiting. %s", leaves), {kind: actWait}}
	case "s", "stop":
		m.ending = true
		return []act{{kind: actStop, stop: wire.Stop{Now: true, Tree: true}}, {kind: actWait}}
	case "l", "leave":
		return []act{{kind: actLeave}}
	}
	return []act{say("Going on.")}
}

// counted continues quit.
func (m *machine) counted(agents, commands int) []act {
	if agents+commands == 0 {
		return []act{{kind: actLeave}}
	}
	var what []string
	if agents > 0 {
		what = append(what, console.Count(agents, "agent"))
	}
	if commands > 0 {
		what = append(what, console.Count(commands, "command"))
	}
	m.left = commands
	verb := "are"
	if agents+commands == 1 {
		verb = "is"
	}
	stop, leave := "(s)top", "(l)eave to be resumed later"
	switch {
	case commands > 0 && agents > 0:
		leave = "(l)eave: agents can be resumed later, commands end now"
	case commands == 1:
		stop, leave = "(s)top it and tell the agent", "(l)eave: it ends too, and the agent is told when you go on"
	case commands > 1:
		stop, leave = "(s)top them and tell the agent", "(l)eave: they end too, and the agent is told when you go on"
	}
	return m.ask(dialogQuit, fmt.Sprintf("%s %s at work. (w)ait for the end, %s, or %s? Anything else goes back.",
		strings.Join(what, " and "), verb, stop, leave))
}

// propose asks whether an undo, or a redo, is to be carried out.
func (m *machine) propose(redo bool) []act {
	if redo {
		return m.ask(dialogRedo, "Redo this? y, or anything else for no.")
	}
	return m.ask(dialogUndo, "Undo this? y, or anything else for no.")
}

// ask asks a question of our own; ? shows it again.
func (m *machine) ask(d dialog, text string) []act {
	m.dialog, m.proposed = d, text
	m.mark++
	return []act{say("%s", text)}
}
