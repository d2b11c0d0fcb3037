//go:build unix

package chat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// remembers is a fake of a conversation with prompts that were answered, the last of them with work of an
// agent, and a request that waits.
func remembers(prompts int) *fake {
	f := newFake(nil)
	f.happened(rootID, 0, troupe.Created{Profile: troupe.Profile{Type: "main"}, Authority: troupe.Authority{
		Mode: troupe.ModePlan}}, troupe.Started{Run: 1})
	for n := 1; n < prompts; n++ {
		f.happened(rootID, int64(10*n), prompted(fmt.Sprintf("prompt number %d", n)), troupe.Replied{Reply: n,
			Blocks: []troupe.Block{troupe.Text(fmt.Sprintf("Answer **%d**.", n))}}, ended(troupe.Completed),
			troupe.Started{Run: n + 1})
	}
	last := int64(10 * prompts)
	failed := finished(prompts, 0, "Bash", "ok a\n--- FAIL: TestLogin (0.00s)\nFAIL\n(Exit code 1.)")
	failed.Evidence.Commands = []troupe.CommandRun{{Command: "go test ./...", ExitCode: 1}}
	f.happened(rootID, last, prompted("mend the login, it has been broken since the change of Tuesday\nand test it"+
		"\n\n<attached-file path=\"auth.go\">\npackage auth\n</attached-file>"),
		troupe.Replied{Reply: prompts, Blocks: []troupe.Block{troupe.Text("I look at it."),
			callBlock(prompts, 0, "Bash", `{"command":"go test ./..."}`),
			callBlock(prompts, 1, "Agent", `{"description":"Look at auth"}`)}}, failed,
		troupe.ToolStarted{Reply: prompts, Call: 1, Name: "Agent", Child: childID})
	f.happened("b00000000000", 0, troupe.Created{Name: "Older", Parent: rootID}, troupe.Started{Run: 1},
		ended(troupe.Completed))
	f.happened(childID, last+1, troupe.Created{Name: "Auth Explorer", Title: "Look at auth", Parent: rootID,
		Profile: troupe.Profile{Type: "Explore"}}, troupe.Started{Run: 1},
		troupe.Replied{Reply: 1, Blocks: []troupe.Block{callBlock(1, 0, "Read", `{"file_path":"/etc/passwd"}`)}},
		troupe.RequestOpened{Reply: 1, RequestBody: troupe.RequestBody{Reason: troupe.WaitApproval, Tool: "Read"}})
	f.before = []wire.Session{{ID: rootID, Root: rootID, Title: "prompt number 1", Status: troupe.Waiting,
		CostUSD: 0.5, Model: "anthropic/opus"},
		{ID: "b00000000000", Root: rootID, Parent: rootID, Name: "Older", EndedAt: time.Unix(5, 0)},
		{ID: childID, Root: rootID, Parent: rootID, Name: "Auth Explorer", Type: "Explore", Title: "Look at auth"}}
	f.requests = []wire.Request{{ID: "r1", Session: childID, Path: "main/Auth Explorer", Tool: "Read",
		Action: `Read {"file_path":"/etc/passwd"}`, Why: "it is outside of the folder", Running: true}}
	return f
}

// TestContinueShowsThePast: a conversation that goes on shows its last exchanges as they were shown live,
// how much came before, and what waits for an answer; what happens next stands below.
func TestContinueShowsThePast(t *testing.T) {
	t.Parallel()
	f := func() *fake { return remembers(40) }
	screensOf(t, "continue", f, wire.Begin{Continue: true}, func(p *person, f *fake) {
		p.sees("\ny/n/? + Enter?")
		p.shows("earlier prompts are not shown here: /log, or troupe log")
		p.Keys("n\r")
		p.shows("denied by user at terminal")
		f.add(childID, ended(troupe.Cancelled))
		p.shows("stopped ·")
	})
}

// TestShortPastIsWhole: where all fits, all is shown, and nothing is said to be left out.
func TestShortPastIsWhole(t *testing.T) {
	t.Parallel()
	p := sit(t, remembers(2), wire.Begin{Continue: true})
	p.sees("\ny/n/? + Enter?")
	shown := p.Shown()
	if !strings.Contains(shown, "> prompt number 1\nAnswer 1.\n") || strings.Contains(shown, "not shown") {
		t.Errorf("the screen shows\n%s", shown)
	}
}

// TestContinueWithoutWhatEnded: a monitor that ended with its process is not shown as at work before its agent has read
// of that.
func TestContinueWithoutWhatEnded(t *testing.T) {
	t.Parallel()
	f := newFake(func(*fake, string) {})
	begun := func(call int, name string) troupe.ToolFinished {
		b := finished(1, call, "Monitor", "is at work")
		b.Task = &troupe.Task{ID: troupe.TaskID(fmt.Sprintf("b1.%d", call)), Kind: troupe.TaskMonitor, Name: name,
			Background: true}
		return b
	}
	f.happened(rootID, 0, troupe.Created{}, troupe.Started{Run: 1}, prompted("watch"),
		troupe.Replied{Reply: 1, Blocks: []troupe.Block{callBlock(1, 0, "Monitor", `{"command":"tail -f gone"}`),
			callBlock(1, 1, "Monitor", `{"command":"tail -f here"}`)}}, begun(0, "Gone"), begun(1, "Here"),
		ended(troupe.Completed))
	f.before = []wire.Session{{ID: rootID, Root: rootID, Title: "watch", Status: troupe.Completed}}
	f.tasks = []wire.Task{{Session: rootID, Path: "main", ID: "b1.0", Kind: troupe.TaskMonitor,
		Status: troupe.TaskKilled},
		{Session: rootID, Path: "main", ID: "b1.1", Kind: troupe.TaskMonitor, Status: troupe.TaskRunning}}
	p := sit(t, f, wire.Begin{Continue: true})
	p.shows("· in the background")
	if rows := p.Shown(); strings.Contains(rows, "b1.0 ") || !strings.Contains(rows, "b1.1 ") {
		t.Errorf("the screen shows\n%s", rows)
	}
}

func TestFitting(t *testing.T) {
	t.Parallel()
	all := [][]string{{"> a\n", "1\n"}, {"> b\n", "1\n", "2\n"}, {"> c\n", "1\n", "2\n", "3\n"}}
	for _, tt := range []struct {
		most    int
		rows    string
		prompts int
		left    int
	}{
		{9, "> a 1 > b 1 2 > c 1 2 3", 0, 0},
		{8, "> b 1 2 > c 1 2 3", 1, 0},
		{5, "> c 1 2 3", 2, 0},
		{3, "> c 2 3", 2, 1},
	} {
		rows, out := fitting(all, tt.most)
		got := strings.TrimSpace(strings.ReplaceAll(strings.Join(rows, ""), "\n", " "))
		if got != tt.rows || out != (leftOut{tt.prompts, tt.left}) {
			t.Errorf("%d rows: %q, %+v", tt.most, got, out)
		}
	}
}

// TestPastCommandIsAsTyped: what a command says to the model is not shown again as a person's words.
func TestPastCommandIsAsTyped(t *testing.T) {
	t.Parallel()
	f := newFake(nil)
	said := prompted("/review main\n\nSkill review\nLook at the diff.")
	typed := "/review main"
	said.Mail[0].Typed = &typed
	said.Mail[0].Uses = &troupe.SkillUse{Name: "review", Narrows: &troupe.Narrowing{Tools: []string{"Read"}},
		Left: []string{"@a.go was not read: permission denied"}}
	f.happened(rootID, 0, troupe.Created{Profile: troupe.Profile{Type: "main"}}, said, troupe.Started{Run: 1},
		ended(troupe.Completed))
	f.before = []wire.Session{{ID: rootID, Root: rootID, Title: "x", Status: troupe.Completed}}
	p := sitAt(t, f, wire.Begin{Continue: true}, 100)
	p.shows("> /review main\n! the skill review leaves only Read until your next prompt, and allows none of them\n" +
		"! @a.go was not read: permission denied")
}
