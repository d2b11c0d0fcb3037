package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// happen is one thing that happens to a machine.
type happen func(m *machine) []act

func line(s string) happen { return func(m *machine) []act { return m.line(s, m.mark) } }

// early is a line that was begun before what was shown last.
func early(s string) happen { return func(m *machine) []act { return m.line(s, m.mark-1) } }

func ctrlC(text string) happen { return func(m *machine) []act { return m.interrupt(text) } }

func ctrlD(m *machine) []act { return m.eof() }

func counted(agents, commands int) happen {
	return func(m *machine) []act { return m.counted(agents, commands) }
}

func open(ids ...string) happen {
	return func(m *machine) []act {
		var all []wire.Request
		for _, id := range ids {
			r := wire.Request{ID: id, Path: "main/" + id, Kind: troupe.RequestPermission, Grant: "Bash(go test *)"}
			if strings.HasPrefix(id, "g") {
				r.Grant = ""
			}
			if strings.HasPrefix(id, "q") {
				r.Kind = troupe.RequestQuestion
			}
			all = append(all, r)
		}
		return m.requests(all)
	}
}

func working(m *machine) []act { m.running(true); return nil }
func stopped(m *machine) []act { m.running(false); return nil }

// show writes acts in a few words.
func show(acts []act) string {
	var out []string
	for _, a := range acts {
		switch a.kind {
		case actSay:
			out = append(out, "say")
		case actSend:
			out = append(out, "send "+a.text)
		case actCommand:
			out = append(out, strings.TrimSpace("/"+a.name+" "+a.text))
		case actAnswer:
			out = append(out, strings.TrimSpace(fmt.Sprintf("answer %s %v %v %s", a.request, a.answer.Allow,
				a.answer.Session, a.answer.Note)))
		case actStop:
			out = append(out, fmt.Sprintf("stop tree=%v", a.stop.Tree))
		case actShow:
			out = append(out, strings.TrimSpace("show "+a.name))
		case actCount:
			out = append(out, "count")
		case actWait:
			out = append(out, "wait")
		case actLeave:
			out = append(out, "leave")
		case actClear:
			out = append(out, "clear")
		case actBack:
			out = append(out, "back")
		case actUndo:
			out = append(out, "undo")
		}
	}
	return strings.Join(out, "; ")
}

func TestMachine(t *testing.T) {
	t.Parallel()
	type step struct {
		do     happen
		want   string
		prompt string
	}
	for _, tt := range []struct {
		name  string
		m     machine
		steps []step
	}{
		{"messages", machine{terminal: true}, []step{
			{line("fix it"), "send fix it", "> "},
			{working, "", "» "},
			{line("faster"), "send faster", "» "},
			{line("   "), "", "» "},
			{line("//tmp is a folder"), "send /tmp is a folder", "» "},
			{line("// a comment"), "send // a comment", "» "},
			{line("//"), "send //", "» "},
			{line("/usr/bin/x crashes"), "send /usr/bin/x crashes", "» "},
		}},
		{"commands", machine{terminal: true, begun: true}, []step{
			{line("/agents"), "/agents", "> "},
			{line("/CO "), "say", "> "}, // compact or cost
			{line("/ta"), "/tasks", "> "},
			{line("/agnets"), "say", "> "},
			{line("/model haiku"), "/model haiku", "> "},
			{line("/xyzzy now"), "say", "> "},
			{line("/"), "/help", "> "},
		}},
		{"nothing has begun", machine{terminal: true}, []step{
			{line("/agents"), "/agents", "> "},
			{line("/cost"), "say", "> "},
			{line("/help"), "/help", "> "},
			{line("/model haiku"), "/model haiku", "> "},
			{line("/mode plan"), "/mode plan", "> "},
			{line("/resume abc"), "/resume abc", "> "},
			{line("/quit"), "leave", "> "},
		}},
		{"a request", machine{terminal: true, begun: true, working: true}, []step{
			{open("r1"), "show", "y/s/a/n/? + Enter? "},
			{open("r1"), "", "y/s/a/n/? + Enter? "},
			{line("and be careful"), "send and be careful; say", "y/s/a/n/? + Enter? "},
			{line("/tasks"), "/tasks", "y/s/a/n/? + Enter? "},
			{line("v"), "show whole", "y/s/a/n/? + Enter? "},
			{line(" Y "), "answer r1 true false", "» "},
			{open("r1"), "", "» "}, // its answer is not in the list yet
			{open(), "", "» "},
			{line("y"), "send y", "» "},
		}},
		{"several requests", machine{terminal: true, begun: true, working: true}, []step{
			{open("r1", "r2", "r3"), "show", "y/s/a/n/? + Enter? "},
			{line("no, that is not ours"), "answer r1 false false that is not ours; show", "y/s/a/n/? + Enter? "},
			{line("a"), "answer r2 true true; show", "y/s/a/n/? + Enter? "},
			{line("n"), "answer r3 false false", "» "},
		}},
		{"answered elsewhere", machine{terminal: true, begun: true}, []step{
			{open("r1", "r2"), "show", "y/s/a/n/? + Enter? "},
			{open("r2"), "say; show", "y/s/a/n/? + Enter? "},
			{open(), "say", "> "},
		}},
		{"a request that came while typing", machine{terminal: true, begun: true}, []step{
			{open("r1"), "show", "y/s/a/n/? + Enter? "},
			{early("y"), "say", "y/s/a/n/? + Enter? "},
			{early("n"), "say", "y/s/a/n/? + Enter? "},
			{early("hello"), "send hello; say", "y/s/a/n/? + Enter? "},
			{line("y"), "answer r1 true false", "> "},
		}},
		{"no rule could allow it", machine{terminal: true, begun: true}, []step{
			{open("g1"), "show", "y/n/? + Enter? "},
			{line("a"), "say", "y/n/? + Enter? "},
		}},
		{"a question", machine{terminal: true, begun: true}, []step{
			{open("q1"), "show", "answer? "},
			{line("the blue one"), "answer q1 true false the blue one", "> "},
		}},
		{"ctrl-c stops the turn, twice quits", machine{terminal: true, begun: true, working: true}, []step{
			{ctrlC("half a line"), "say; stop tree=false", "» "},
			{stopped, "", "> "},
			{ctrlC(""), "count", "> "},
			{counted(0, 0), "leave", "> "},
		}},
		{"ctrl-c, and something else begins", machine{terminal: true, begun: true, working: true}, []step{
			{ctrlC(""), "say; stop tree=false", "» "},
			{stopped, "", "> "},
			{working, "", "» "},
			{ctrlC(""), "say; stop tree=false", "» "},
			{stopped, "", "> "},
			{ctrlC("typed since"), "clear", "> "},
			{ctrlC(""), "count", "> "},
		}},
		{"ctrl-c at the prompt", machine{terminal: true, begun: true}, []step{
			{ctrlC("a line"), "clear", "> "},
			{line("x"), "send x", "> "},
			{ctrlC(""), "say", "> "},
			{ctrlC(""), "count", "> "},
		}},
		{"quit asks: wait", machine{terminal: true, begun: true}, []step{
			{line("/quit"), "count", "> "},
			{counted(2, 1), "say", "w/s/l + Enter? "},
			{line("w"), "say; wait", "… "},
			{line("one more thing"), "say", "… "},
			{open("r1"), "show", "y/s/a/n/? + Enter? "},
			{line("y"), "answer r1 true false", "… "},
			{ctrlC(""), "leave", "… "},
		}},
		{"quit asks: stop", machine{terminal: true, begun: true}, []step{
			{ctrlD, "count", "> "},
			{counted(1, 0), "say", "w/s/l + Enter? "},
			{line("stop"), "stop tree=true; wait", "… "},
		}},
		{"quit asks: leave", machine{terminal: true, begun: true}, []step{
			{ctrlD, "count", "> "},
			{counted(1, 0), "say", "w/s/l + Enter? "},
			{line("l"), "leave", "> "},
		}},
		{"quit asks: no", machine{terminal: true, begun: true}, []step{
			{ctrlD, "count", "> "},
			{counted(1, 0), "say", "w/s/l + Enter? "},
			{early("l"), "say", "w/s/l + Enter? "},
			{line(""), "say", "> "},
		}},
		{"quit asks: enough", machine{terminal: true, begun: true}, []step{
			{ctrlD, "count", "> "},
			{counted(1, 0), "say", "w/s/l + Enter? "},
			{ctrlD, "leave", "w/s/l + Enter? "},
		}},
		{"undo", machine{terminal: true, begun: true}, []step{
			{func(m *machine) []act { return m.propose(false) }, "say", "y/n + Enter? "},
			{line("y"), "undo", "> "},
			{func(m *machine) []act { return m.propose(false) }, "say", "y/n + Enter? "},
			{ctrlC(""), "say", "> "},
			{func(m *machine) []act { return m.propose(false) }, "say", "y/n + Enter? "},
			{line("yo"), "say", "> "},
		}},
		{"a pipe", machine{begun: true, working: true}, []step{
			{open("r1", "r2"), "show", "y/s/a/n/? + Enter? "},
			{ctrlD, "answer r1 false false the conversation was left; answer r2 false false the " +
				"conversation was left; wait", "… "},
			{open("r3"), "answer r3 false false the conversation was left", "… "},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := tt.m
			m.requests(nil)
			for i, s := range tt.steps {
				if got := show(s.do(&m)); got != s.want {
					t.Fatalf("step %d: got %q, want %q", i, got, s.want)
				}
				if got := m.prompt(); got != s.prompt {
					t.Fatalf("step %d: the prompt is %q, want %q", i, got, s.prompt)
				}
			}
		})
	}
}

// TestLeavingSaysWhatEnds: agents can be resumed, commands cannot.
func TestLeavingSaysWhatEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		agents, commands int
		want             string
	}{
		{1, 0, "1 agent is at work. (w)ait for the end, (s)top, or (l)eave to be resumed later? Anything else goes " +
			"back."},
		{0, 1, "1 command is at work. (w)ait for the end, (s)top it and tell the agent, or (l)eave: it " +
			"ends too, and the agent is told when you go on? Anything else goes back."},
		{0, 2, "2 commands are at work. (w)ait for the end, (s)top them and tell the agent, or (l)eave: they " +
			"end too, and the agent is told when you go on? Anything else goes back."},
		{2, 1, "2 agents and 1 command are at work. (w)ait for the end, (s)top, or (l)eave: agents can be resumed " +
			"later, commands end now? Anything else goes back."},
	} {
		m := machine{terminal: true, begun: true}
		if acts := m.counted(tt.agents, tt.commands); len(acts) != 1 || acts[0].text != tt.want {
			t.Errorf("%d, %d: %+v", tt.agents, tt.commands, acts)
		}
	}
}

func TestReadAhead(t *testing.T) {
	t.Parallel()
	m := machine{}
	if !m.ready() {
		t.Error("an idle conversation takes a line")
	}
	m.working = true
	if m.ready() {
		t.Error("a line that was written ahead is for the next turn")
	}
	m.requests([]wire.Request{{ID: "r"}})
	if !m.ready() {
		t.Error("a request takes a line")
	}
}

func TestDidYouMean(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"agnets": "/agents", "tsaks": "/tasks", "quti": "/quit", "cots": "/cost", "hepl": "/help", "exot": "/quit",
		"undoo": "/undo",
	} {
		name, problem := findCommand(word)
		if name != "" || !strings.Contains(problem, "Did you mean "+want+"?") {
			t.Errorf("/%s: %q %q", word, name, problem)
		}
	}
	for _, word := range []string{"xyzzy", "y"} {
		if name, problem := findCommand(word); name != "" || strings.Contains(problem, "Did you mean") {
			t.Errorf("/%s: %q %q", word, name, problem)
		}
	}
	for word, want := range map[string]string{"config": "settings are files",
		"confgi": "For config: settings are files",
		"init":   "AGENTS.md", "plugin": "`troupe plugins`", "rewind": "/undo"} {
		if name, problem := findCommand(word); name != "" || !strings.Contains(problem, want) {
			t.Errorf("/%s: %q %q", word, name, problem)
		}
	}
	for word, want := range map[string]string{"q": "quit", "bg": "background", "exit": "quit", "a": "agents",
		"und": "undo", "model": "model"} {
		if name, problem := findCommand(word); name != want {
			t.Errorf("/%s: %q %q", word, name, problem)
		}
	}
}

// TestNoAnswer: words that are no answer are sent, and the person is told that they answer nothing.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	for grant, want := range map[string]string{"": "answer with y or n",
		"Bash(rm:*)": "answer with y, s, a or n"} {
		m := machine{terminal: true, begun: true, asks: []wire.Request{{ID: "r", Path: "main/kid", Grant: grant}}}
		for _, text := range []string{"yes please", "tell it to hurry"} {
			acts := m.line(text, -1)
			if len(acts) != 2 || acts[0].kind != actSend || !strings.Contains(acts[1].text, "request of main/kid") ||
				!strings.Contains(acts[1].text, want) {
				t.Errorf("%q: %+v", text, acts)
			}
		}
	}
}

// TestBeside: while an agent is shown beside the conversation, Esc and the first Ctrl-C go back and stop nothing.
func TestBeside(t *testing.T) {
	t.Parallel()
	m := machine{begun: true, working: true, beside: true}
	if got := show(m.escape()); got != "back" {
		t.Errorf("Esc: %s", got)
	}
	if got := show(m.interrupt("")); got != "back" {
		t.Errorf("Ctrl-C: %s", got)
	}
	m.beside = false
	if got := show(m.interrupt("")); !strings.Contains(got, "stop tree=false") {
		t.Errorf("the next Ctrl-C: %s", got)
	}
}
