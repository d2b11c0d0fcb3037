//go:build unix

package chat

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat/render"
	"github.com/troupe-dev/troupe/internal/wire"
)

// explores is a fake whose main agent waits for an agent that looks around.
func explores() *fake {
	return newFake(func(f *fake, what string) {
		if what != "go" {
			return
		}
		f.add(rootID, troupe.Replied{Reply: 1, Blocks: []troupe.Block{troupe.Text("I will have it looked at."),
			callBlock(1, 0, "Agent", `{"description":"Look at auth"}`)}},
			troupe.ToolStarted{Reply: 1, Name: "Agent", Child: childID})
		f.add(childID, troupe.Created{Name: "Auth Explorer", Title: "Look at auth", Parent: rootID,
			Profile: troupe.Profile{Type: "Explore"}}, troupe.Started{Run: 1},
			troupe.MailDelivered{Mail: []troupe.Mail{{ID: troupe.PromptMailID(childID), From: rootID,
				Kind:   troupe.MailPrompt,
				Blocks: []troupe.Block{troupe.Text("Find out where the login is.\nSay which file and line.")}}}},
			troupe.Replied{Reply: 1, Blocks: []troupe.Block{troupe.Text("I look at **auth.go** first:\n\n- one\n- two"),
				callBlock(1, 0, "Read", `{"file_path":"auth.go"}`)}}, finished(1, 0, "Read", "package auth"),
			troupe.CallSealed{Reply: 2})
	})
}

// TestTranscript: an agent's log beside the conversation, by the same renderer and live; Esc goes back, where
// what came meanwhile is shown.
func TestTranscript(t *testing.T) {
	t.Parallel()
	screens(t, "log", explores, wire.Begin{}, func(p *person, f *fake) {
		p.Keys("go\r")
		p.shows("✓ Read auth.go")
		p.Keys("/log 1\r")
		p.shows("• two")
		p.shows("#1 Auth Explorer · your words go to it · Esc returns\n»")
		f.add(childID, troupe.Replied{Reply: 2, Blocks: []troupe.Block{troupe.Text("And now the tests."),
			callBlock(2, 0, "Glob", `{"pattern":"*_test.go"}`)}}, finished(2, 0, "Glob", "auth_test.go"))
		p.shows("\nAnd now the tests.\n✓ Glob *_test.go\n")
		f.add(rootID, troupe.ModelChanged{Model: "anthropic/haiku"})
		p.Keys("\x1b")
		p.sees("── back in the conversation\n│ “And now the tests.”\n│ ✓ Glob *_test.go\n" +
			"goes on with anthropic/haiku\n»")
	})
}

// TestForeground: an agent is shown until its end, and then the conversation again by itself.
func TestForeground(t *testing.T) {
	t.Parallel()
	screens(t, "foreground", explores, wire.Begin{}, func(p *person, f *fake) {
		p.Keys("go\r")
		p.shows("✓ Read auth.go")
		p.Keys("/fg auth explorer\r")
		p.shows("your words go to it")
		p.Keys("and the logout\r")
		p.shows("Sent to #1 Auth Explorer.")
		f.heardAll(t, "begin false", "go", "to a00000000000: and the logout")
		end := ended(troupe.Completed)
		end.Outcome.Result = "It is in auth.go:12."
		f.add(childID, troupe.Replied{Reply: 2, Blocks: []troupe.Block{troupe.Text("It is in auth.go:12.")}}, end)
		p.shows("back in the conversation\n└─ done")
		p.Keys("/fg 1\r")
		p.sees("\n/tasks lists what is; /log shows what an agent did.\n»")
	})
}

// TestControlB: what the main agent waits for goes on in the background.
func TestControlB(t *testing.T) {
	t.Parallel()
	f := explores()
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("\x02hey\x02\x02!\r") // where nothing runs it does nothing, and in a text it goes left
	p.sees("»")
	f.says("heard")
	p.sees("1.5 s\n>")
	p.Keys("go\r")
	p.shows("✓ Read auth.go")
	p.Keys("\x02")
	f.heardAll(t, "begin false", "h!ey", "go", "background m00000000000")
	p.Keys("/background 1\r")
	f.heardAll(t, "begin false", "h!ey", "go", "background m00000000000", "background a00000000000")
}

// TestTranscriptTakesItsOwn: of what comes an agent's log has what belongs to it, each event once, and the
// end of an agent below it is not its own.
func TestTranscriptTakesItsOwn(t *testing.T) {
	t.Parallel()
	const grandID, otherID = "b00000000000", "c00000000000"
	known := render.New(rootID, render.Options{Width: 80})
	known.Cast.Know([]wire.Session{{ID: rootID}, {ID: childID, Name: "One", Parent: rootID},
		{ID: grandID, Name: "Below", Parent: childID}, {ID: otherID, Name: "Other", Parent: rootID}})
	x := &transcript{id: childID, view: known.Of(childID), seen: map[troupe.SessionID]int64{childID: 4}}
	says := func(id troupe.SessionID, seq int64, text string) troupe.Event {
		return troupe.Event{Session: id, Seq: seq, Body: troupe.Replied{Reply: 1,
			Blocks: []troupe.Block{troupe.Text(text)}}}
	}
	ends := func(id troupe.SessionID, seq int64) troupe.Event {
		return troupe.Event{Session: id, Seq: seq, Body: ended(troupe.Completed)}
	}
	over := x.follow(wire.Batch{Events: []troupe.Event{says(childID, 4, "read before"), says(childID, 5, "new"),
		says(childID, 5, "new"), says(otherID, 1, "of another"), ends(otherID, 2), ends(grandID, 2)}}, known)
	text, _ := x.view.Take()
	if over || strings.Count(text, "new\n") != 1 || strings.Contains(text, "before") ||
		strings.Contains(text, "Other") || !strings.Contains(text, "Below") {
		t.Errorf("over %v, and it shows:\n%s", over, text)
	}
	if !x.follow(wire.Batch{Events: []troupe.Event{ends(childID, 6)}}, known) {
		t.Error("its own end does not end it")
	}
}
