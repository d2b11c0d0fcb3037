//go:build unix

package chat

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestModeSettlesWhatIsAsked: a mode that allows the edit that is asked about says so.
func TestModeSettlesWhatIsAsked(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) {
		f.ask(wire.Request{ID: "r1", Session: rootID, Path: "main", Tool: "Edit", Action: "x", Running: true,
			Beyond: wire.Beyond{Mode: troupe.ModeAcceptEdits}})
	})
	p := sitAt(t, f, wire.Begin{}, 100)
	p.sees("\n>")
	p.Keys("go\r")
	p.sees("y/n/? + Enter?")
	p.Keys("/mode acceptEdits\r")
	p.shows("From now on: acceptEdits. It allows what main asks for as well, which goes on.")
}

// TestPermissionBox: a choice a line, short paths.
func TestPermissionBox(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		return newFake(func(f *fake, what string) {
			if what != "go" {
				return
			}
			f.ask(wire.Request{ID: "r1", Session: rootID, Path: "main/Auth Explorer", Tool: "Bash",
				Folder: "/ws/project",
				Action: "go test ./... > /ws/project/log.txt", Running: true, Grant: "Bash(go test *)",
				File: "/root/.config/troupe/folders/project-3a57877abbe9.json",
				Why: "it ran read-only and wanted to create /ws/project/log.txt; yes runs it again and lets it do " +
					"that",
				Until: time.Unix(0, 0).Add(5 * time.Minute)},
				wire.Request{ID: "r2", Session: rootID, Path: "main", Tool: "Read", Folder: "/ws/project",
					Action: `Read {"file_path":"/etc/hostname"}`, Running: true, Grant: "Read(//etc/hostname)",
					Why: "it is outside of /ws/project", Until: time.Unix(0, 0).Add(24 * time.Hour)})
		})
	}
	screens(t, "box", f, wire.Begin{}, func(p *person, _ *fake) {
		p.Keys("go\r")
		p.shows("1 more request waits\ny/s/a/n/? + Enter?")
		p.Keys("y\r")
		p.shows("/etc/hostname")
		p.sees("allowed by user at terminal\ny/s/a/n/? + Enter?")
	})
}

// TestRequestKeepsItsShape: tabs are room and not letters, and nothing stands below the box.
func TestRequestKeepsItsShape(t *testing.T) {
	t.Parallel()
	got := showRequest(wire.Request{Path: "main", Tool: "Edit", Action: "-\treturn 1\n+\t\treturn 2\tx", Running: true,
		Beyond: wire.Beyond{Mode: troupe.ModeAcceptEdits}}, &box{width: 40})
	for _, s := range []string{"┃   -    return 1\n┃   +        return 2\\tx\n",
		"┃ /mode acceptEdits allows edits in\n┗━   the project without asking\n"} {
		if !strings.Contains(got, s) {
			t.Errorf("no %q in\n%s", s, got)
		}
	}
}

// TestGrantsAreSeen: what a person allowed is told whole, and /status lists it.
func TestGrantsAreSeen(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		rule := troupe.Rule{Effect: troupe.Allow, Text: "Edit(//home/someone/src/stats/internal/**)",
			Source: "granted by user at terminal"}
		return newFake(func(f *fake, _ string) {
			f.add(rootID, troupe.AuthorityChanged{By: rule.Source, Authority: troupe.Authority{
				Rules: []troupe.Rule{rule}}})
			f.says("ok")
		})
	}
	screens(t, "granted", f, wire.Begin{}, func(p *person, _ *fake) {
		p.Keys("go\r")
		p.sees("1.5 s\n>")
		p.Keys("/status\r")
		p.shows("\nallowed  Edit(")
	})
}

// TestWhyARequestWentAway: what was done here is the reason for those requests alone that it was done about.
func TestWhyARequestWentAway(t *testing.T) {
	t.Parallel()
	worker, editor := wire.Request{ID: "r1", Path: "main/worker"}, wire.Request{ID: "r2", Path: "main/editor",
		Beyond: wire.Beyond{Mode: troupe.ModeAcceptEdits}}
	allowed := func(m *machine) { m.closes("was allowed by the mode acceptEdits", troupe.ModeAcceptEdits) }
	elsewhere := "was answered elsewhere"
	for name, tt := range map[string]struct {
		first []wire.Request // that are open when it is done
		does  func(*machine)
		then  [][]wire.Request
		want  []string
	}{
		"of the turn that was stopped": {[]wire.Request{worker}, func(m *machine) { m.escape(); m.running(false) },
			[][]wire.Request{nil}, []string{"main/worker was closed"}},
		"of one that came later": {nil, func(m *machine) { m.escape(); m.running(false) },
			[][]wire.Request{{worker}, nil}, []string{"main/worker " + elsewhere}},
		"of one that outlived the turn": {[]wire.Request{worker}, func(m *machine) { m.escape(); m.running(false) },
			[][]wire.Request{{worker}, nil}, []string{"main/worker " + elsewhere}},
		"as somebody else has answered": {[]wire.Request{worker},
			func(m *machine) { m.answered("r1", "the lead of the team") }, [][]wire.Request{nil},
			[]string{"main/worker was answered by the lead of the team."}},
		"as nobody has said": {[]wire.Request{worker}, func(m *machine) { m.answered("r1", "") },
			[][]wire.Request{nil}, []string{"main/worker " + elsewhere}},
		"by another mode": {[]wire.Request{worker, editor}, func(m *machine) { allowed(m) },
			[][]wire.Request{{editor}, nil},
			[]string{"main/worker " + elsewhere, "main/editor was allowed by the mode acceptEdits"}},
	} {
		m := machine{terminal: true, begun: true, working: true}
		m.requests(tt.first)
		tt.does(&m)
		var said []string
		for _, open := range tt.then {
			for _, a := range m.requests(open) {
				if a.kind == actSay {
					said = append(said, a.text)
				}
			}
		}
		if len(said) != len(tt.want) {
			t.Fatalf("%s: it says %q", name, said)
		}
		for i, want := range tt.want {
			if !strings.Contains(said[i], want) {
				t.Errorf("%s: it says %q, not %q", name, said[i], want)
			}
		}
	}
}

// TestLateAnswerIsNotSent: a lone letter just after a request went away was meant for that, and to a model
// would say something else.
func TestLateAnswerIsNotSent(t *testing.T) {
	t.Parallel()
	at := func(s int64) func(m *machine) { return func(m *machine) { m.now = time.Unix(s, 0) } }
	for _, tt := range []struct {
		when int64
		word string
		want string
	}{
		{101, "y", "say"}, {101, "F", "say"}, {101, "yes please", "send yes please"}, {102, "y", "send y"},
	} {
		m := machine{terminal: true, begun: true, working: true}
		at(100)(&m)
		open("r1")(&m)
		acts := m.escape()
		acts = append(acts, open()(&m)...)
		said := acts[len(acts)-1].text
		if !strings.Contains(said, "was closed with the turn that you stopped") {
			t.Errorf("after Esc it says %q", said)
		}
		at(tt.when)(&m)
		if got := show(m.line(tt.word, m.mark)); got != tt.want {
			t.Errorf("%q at %d: %s", tt.word, tt.when, got)
		}
	}
}

// TestQuestionExplainsItself: ? shows a request again, wherever it has gone, and what each key gives; it does not go to
// the agent as words.
func TestQuestionExplainsItself(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		return newFake(func(f *fake, what string) {
			f.ask(wire.Request{ID: "r1", Session: rootID, Path: "main", Tool: "Edit", Folder: "/ws/project",
				Action: "/ws/project/src/a.go: changes", Running: true, Grant: "Edit(//ws/project/src/a.go)",
				File:   "/root/.config/troupe/folders/project.json",
				Why:    "no rule allows it, and it writes /ws/project/src/a.go",
				Beyond: wire.Beyond{Wider: "Edit(//ws/project/src/**)", Mode: troupe.ModeAcceptEdits}})
		})
	}
	screens(t, "explained", f, wire.Begin{}, func(p *person, f *fake) {
		p.Keys("go\r")
		p.sees("y/s/f/a/n/? + Enter?")
		p.Keys("?\r")
		p.shows("Esc stops the main agent's turn.")
		f.heardAll(t, "begin false", "go")
	})
}

// TestRefusedAnswerAsksAgain: a request whose answer was refused is shown again, and answered by the next key.
func TestRefusedAnswerAsksAgain(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		f := newFake(func(f *fake, what string) {
			if what != "go" {
				f.says("made")
				return
			}
			f.ask(wire.Request{ID: "r1", Session: rootID, Path: "main", Tool: "Bash", Action: "make", Running: true,
				Grant: "Bash(make)", File: "/x.json", NoAlways: true})
		})
		f.refused = troupe.NotAllowed(troupe.RightAdmin)
		return f
	}
	screens(t, "refused_answer", f, wire.Begin{}, func(p *person, f *fake) {
		p.Keys("go\r")
		p.sees("y/s/n/? + Enter?")
		p.Keys("a\r")
		p.sees("this one.\ny/s/n/? + Enter?")
		p.Keys("s\r")
		p.shows("you do not have")
		p.sees("says why\ny/s/n/? + Enter?")
		p.Keys("y\r")
		p.sees("── done · 0 tool uses · 2k tokens · 1.5 s\n>")
		f.heardAll(t, "begin false", "go", "answer r1 allow=true session=false")
	})
}

// TestQuestionMark: where nothing is asked, a lone ? at a terminal is /help.
func TestQuestionMark(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		m    machine
		line string
		want string
	}{
		{machine{terminal: true}, "?", "/help"},
		{machine{terminal: true, working: true, begun: true}, " ? ", "/help"},
		{machine{}, "?", "send ?"},
		{machine{terminal: true, begun: true, asks: []wire.Request{{ID: "r"}}}, "?", "show explained"},
		{machine{terminal: true, begun: true, asks: []wire.Request{{ID: "r", Kind: troupe.RequestQuestion}}}, "?",
			"show explained"},
	} {
		if got := show(tt.m.line(tt.line, -1)); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.line, got, tt.want)
		}
	}
	for _, key := range []string{"y yes", "s for this session", "f for", "a always", "n no", "v shows", "? shows"} {
		if !strings.Contains(help(0, false), key) {
			t.Errorf("/help says nothing of %q", key)
		}
	}
}

// TestShiftTabPlans: the key begins plan mode, and ends it.
func TestShiftTabPlans(t *testing.T) {
	t.Parallel()
	p := sitAt(t, newFake(func(*fake, string) {}), wire.Begin{}, 100)
	p.sees("\n>")
	p.Keys("\x1b[Z")
	p.shows("The conversation will begin with: plan")
	p.Keys("\x1b[Z")
	p.shows("The conversation will begin with: default")
}
