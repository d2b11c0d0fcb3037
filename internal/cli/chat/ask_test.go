package chat

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestShowRequest: whoever is asked sees who asks, why, the exact action with what hides in
// it, what was printed, and which rule a yes for good would write, and where.
func TestShowRequest(t *testing.T) {
	t.Parallel()
	r := wire.Request{
		Path: "main/kid", Tool: "Bash", Why: "it ran read-only and wanted to create /ws/x",
		Action: "touch x\u202e # \x1b[2J",
		Output: "one\ntwo \x07", Grant: "Bash(touch x)", File: "/home/u/.config/troupe/folders/ws.json", Running: true,
	}
	plain := showRequest(r, &box{waiting: 1, local: time.UTC, home: "/home/u"})
	for _, s := range []string{
		"┏━ main/kid asks: Bash", "why: it ran read-only and wanted to create /ws/x", `touch x\u{202e} # \u{001b}[2J`,
		`│ two \u{0007}`,
		"\n┃ y  yes, once\n┃ s  yes, for this session: Bash(touch x)\n┃ a  yes, always: kept in " +
			"~/.config/troupe/folders/ws.json\n" +
			"┃ s and a allow it anything in the folder but at protected places, and any host that the settings " +
			"allow\n┃ n  no; n and words says why\n┗━ 1 more request waits\n",
	} {
		if !strings.Contains(plain, s) {
			t.Errorf("no %q in\n%s", s, plain)
		}
	}
	if strings.ContainsAny(plain, "\x1b\x07\u202e") {
		t.Errorf("something in it is not shown as it is:\n%q", plain)
	}
	a, b := showRequest(r, &box{color: true}), showRequest(wire.Request{Path: "main", Running: true}, &box{color: true})
	if !strings.Contains(a, "m"+r.Path+"\x1b[0m") || strings.SplitN(a, "main", 2)[0] == strings.SplitN(b, "main",
		2)[0] {
		t.Errorf("two agents have one colour:\n%q\n%q", a, b)
	}
}

// TestRequestFits: no row of a request is wider than the screen, every one has the edge before
// it, and nothing of it is lost.
func TestRequestFits(t *testing.T) {
	t.Parallel()
	r := wire.Request{
		Path: "main/somebody with a rather long name/and a kid of that", Tool: "Bash", Grant: "Bash(go test *)",
		Why: "nothing says whether it may run, and it wanted to create a file in a folder that it may not write to",
		Action: "go test -run 'TestOne|TestTwo' " +
			"./internal/a/very/long/path/without/a/single/space/in/it/that/ends/somewhere && echo done",
		Output: strings.Repeat("out ", 40),
		File:   "/home/somebody/.config/troupe/folders/project-with-a-long-name-0123456789.json",
		Until:  time.Unix(7200, 0),
	}
	squeeze := func(s string) string {
		return strings.NewReplacer(" ", "", "┏━", "", "┃", "", "┗━", "", "│", "", "\n", "").Replace(ansi.Strip(s))
	}
	whole := squeeze(showRequest(r, &box{waiting: 1, local: time.UTC}))
	for _, width := range []int{40, 60, 80} {
		for _, color := range []bool{false, true} {
			text := showRequest(r, &box{waiting: 1, width: width, color: color, local: time.UTC})
			for l := range strings.Lines(text) {
				l = strings.TrimSuffix(l, "\n")
				if n := ansi.StringWidth(l); n > width {
					t.Errorf("%d of %d columns: %s", n, width, l)
				}
				if !strings.HasPrefix(l, "┏━ ") && !strings.HasPrefix(l, "┃ ") && !strings.HasPrefix(l, "┗━ ") {
					t.Errorf("no edge: %s", l)
				}
			}
			if squeeze(text) != whole {
				t.Errorf("something is lost:\n%s", text)
			}
			for _, word := range []string{" leave", "unless", "answered", "session", "nothing", "create"} {
				if strings.Contains(whole, word) && !strings.Contains(text, word) {
					t.Errorf("%q is broken in %d columns:\n%s", word, width, text)
				}
			}
		}
	}
}

// TestRequestIsShort: what tools are asked for is told in words, paths from the folder, and a deadline
// only when it is near.
func TestRequestIsShort(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	r := wire.Request{Path: "main", Tool: "Read", Action: `Read {"file_path":"/etc/hostname"}`, Folder: "/ws",
		Running: true,
		Why:     "it is outside of /ws and reads /ws/../etc", Until: now.Add(time.Hour)}
	const want = "┏━ main asks: Read /etc/hostname\n┃ why: it is outside of /ws and reads ../etc\n┃ y  yes, once\n" +
		"┗━ n  no; n and words says why\n"
	if got := showRequest(r, &box{now: now, local: time.UTC}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	r.Action, r.Tool = "Grep {\"pattern\":\"a\\nb\",\"path\":\"/ws/x\",\"-n\":true}", "Grep"
	const grep = "┏━ main asks: Grep\n┃   -n: true\n┃   path: x\n┃   pattern: a\n┃   b\n"
	if got := showRequest(r, &box{now: now, local: time.UTC}); !strings.HasPrefix(got, grep) {
		t.Errorf("got\n%s\nwant\n%s", got, grep)
	}
	if got := showRequest(r, &box{now: now.Add(50 * time.Minute), local: time.UTC}); !strings.HasSuffix(got,
		"\n┗━ denied at 11:00 unless answered\n") {
		t.Errorf("no deadline in\n%s", got)
	}
}

// TestRequestOffersTheFolder: beside the one file its folder is offered, with the mode in which edits are not
// asked about; of agents in the background it is said that a yes is for them alone.
func TestRequestOffersTheFolder(t *testing.T) {
	t.Parallel()
	r := wire.Request{ID: "r", Path: "main", Tool: "Edit", Action: "x", Grant: "Edit(//ws/src/a.go)", Running: true,
		Folder: "/ws", Beyond: wire.Beyond{Wider: "Edit(//ws/src/**)", Mode: troupe.ModeAcceptEdits}}
	const want = "┃ s  yes, for this session: Edit(//ws/src/a.go)\n" +
		"┃ f  yes, for this session, for all files in src and below: Edit(//ws/src/**)\n┃ a  yes, always\n" +
		"┃ n  no; n and words says why\n┗━ /mode acceptEdits allows edits in the project without asking\n"
	if got := showRequest(r, &box{local: time.UTC}); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for wider, want := range map[string]string{
		"Edit(//ws/**)": "in /ws and below", "Read(//home/u/no\\*tes/**)": "in ~/no*tes and below",
		"Edit(~/x/**)": "of the folder",
	} {
		of := r
		of.Wider = wider
		if got := showRequest(of, &box{local: time.UTC, home: "/home/u"}); !strings.Contains(got,
			"f  yes, for this session, for all files "+want+": ") {
			t.Errorf("of %s:\n%s", wider, got)
		}
	}
	m := machine{terminal: true, begun: true}
	m.requests([]wire.Request{r})
	if p := m.prompt(); p != "y/s/f/a/n/? + Enter? " {
		t.Errorf("the prompt is %q", p)
	}
	yes := wire.Answer{Allow: true, Session: true, Wider: true}
	if acts := m.line("f", -1); len(acts) != 1 || acts[0].request != "r" || !reflect.DeepEqual(acts[0].answer, yes) {
		t.Errorf("f does %+v", acts)
	}
	r.Wider = ""
	m = machine{terminal: true, begun: true}
	m.requests([]wire.Request{r})
	if acts := m.line("f", -1); len(acts) != 1 || acts[0].kind != actSay {
		t.Errorf("f without a folder does %+v", acts)
	}
	r.Kind = troupe.RequestBackground
	if got := showRequest(r, &box{local: time.UTC}); !strings.Contains(got, "┃ y  yes, to these agents and to "+
		"those that they start\n") {
		t.Errorf("got\n%s", got)
	}
}

// TestRequestInAWorktree: of an agent with a folder of its own it is said that it has one, and the one folder that a
// yes opens is that, in every sentence.
func TestRequestInAWorktree(t *testing.T) {
	t.Parallel()
	r := wire.Request{ID: "r", Path: "main/fixer", Tool: "Bash", Action: "touch a b", Grant: "Bash(touch a b)",
		Running: true, Folder: "/ws", Worktree: "/home/u/trees/fixer-1", WorktreeName: "fixer-1",
		Why: "it ran with what was allowed and wanted to create /home/u/trees/fixer-1/b; yes lets it write " +
			"anywhere in /home/u/trees/fixer-1 but at protected places"}
	const want = "┏━ main/fixer asks, in worktree fixer-1: Bash\n┃   touch a b\n" +
		"┃ why: it ran with what was allowed and wanted to create b; yes lets it write anywhere in " +
		"~/trees/fixer-1 but at protected places\n┃ y  yes, once\n┃ s  yes, for this session: Bash(touch a b)\n" +
		"┃ a  yes, always\n┃ s and a allow it anything in the folder of the agent that runs it, " +
		"here ~/trees/fixer-1, but at protected places, and any host that the settings allow\n" +
		"┗━ n  no; n and words says why\n"
	if got := showRequest(r, &box{local: time.UTC, home: "/home/u"}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
