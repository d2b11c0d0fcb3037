package app

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/files"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestUndoAndRedo(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	p.put("old", "one\ntwo\n")
	if err := os.Chmod(p.path("old"), 0o750); err != nil {
		t.Fatal(err)
	}
	before := p.disk()
	p.turn(p.root)
	p.use(p.root, "Read", map[string]any{"file_path": "old"})
	p.turn(p.root)
	p.write(p.root, "old", "one\nTWO\n")
	p.write(p.root, "new/er", "x\ny\n")
	p.say(p.root, "now the other thing\nand more of it")
	p.turn(p.root)
	p.use(p.root, "Edit", map[string]any{"file_path": "old", "old_string": "one", "new_string": "ONE"})
	p.bash(p.root, "make")
	after := p.disk()

	turns, err := p.undo().changes(t.Context(), p.root)
	if err != nil {
		t.Fatal(err)
	}
	if len(turns) != 3 || len(turns[0].Files) != 0 || len(turns[1].Files) != 2 || turns[1].Asked != "go" ||
		!strings.HasPrefix(turns[2].Asked, "now the other thing") {
		t.Fatalf("turns %+v", turns)
	}
	if f := turns[1].Files[0]; f.Path != p.path("new/er") || !f.New || f.Added != 2 || f.Writes != 1 ||
		!slices.Equal(f.Agents, []string{"main"}) {
		t.Errorf("a new file: %+v", f)
	}
	if f := turns[2].Files[0]; f.Path != p.path("old") || f.New || f.Added != 1 || f.Removed != 1 {
		t.Errorf("an edit: %+v", f)
	}
	if c := turns[2].Commands; len(c) != 1 || c[0].Text != "make" || c[0].State != wire.CommandEnded {
		t.Errorf("commands %+v", c)
	}

	// Planning changes nothing. The default is the last turn that changed something.
	last := p.plan(0)
	if last.Turn != 3 || len(last.Files) != 1 || len(last.Commands) != 1 {
		t.Errorf("the default: %+v", last)
	}
	u := p.plan(1)
	if len(u.Files) != 2 || u.Files[0].To != "" || u.Files[0].Removed != 2 || u.Files[1].Added != 2 ||
		len(u.Blocked(false)) != 0 {
		t.Errorf("the plan: %+v", u)
	}
	p.want("a plan", after)

	r := p.apply(u, false)
	p.want("undone", before)
	if info, err := os.Stat(p.path("old")); err != nil || info.Mode() != 0o750 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if len(r.Files) != 2 || len(r.Left) != 0 || r.TakeBack != "troupe undo "+string(p.root)+" --redo" {
		t.Errorf("report %+v", r)
	}
	for _, part := range []string{"before turn 1", "Put back:\n- " + p.path("old") + "\n",
		"Removed:\n- " + p.path("new/er") + "\n", "Read them again", "commands changed was not undone"} {
		if !strings.Contains(r.Notice(), part) {
			t.Errorf("the notice lacks %q:\n%s", part, r.Notice())
		}
	}
	// Nothing is left to be undone by itself; by its number there is nothing to do.
	if _, err := p.undo().planUndo(t.Context(), p.root, 0); err == nil {
		t.Error("there is still something to undo")
	}
	if again := p.plan(1); len(again.Files) != 0 || len(again.Same) != 2 {
		t.Errorf("again: %+v", again)
	}

	redo := p.redo()
	if back := p.apply(redo, false); back.TakeBack != "troupe undo "+string(p.root) ||
		!strings.Contains(back.Notice(), "taken an undo back") {
		t.Errorf("report %+v\n%s", back, back.Notice())
	}
	p.want("brought back", after)
	if _, err := p.undo().planRedo(t.Context(), p.root); err == nil {
		t.Error("an undo can be taken back twice")
	}
	p.apply(p.plan(1), false)
	p.want("undone again", before)
}

// One undo after the other goes further back, turn by turn, and comes back the same way.
func TestUndoStepByStep(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	p.put("f", "0")
	var was []map[string]string
	for i := range 4 {
		was = append(was, p.disk())
		p.turn(p.root)
		if i != 2 { // which changes nothing
			p.write(p.root, "f", fmt.Sprint(i+1))
		}
	}
	end := p.disk()
	for _, turn := range []int{4, 2, 1} {
		u := p.plan(0)
		if u.Turn != turn {
			t.Fatalf("the next turn to undo is %d, want %d", u.Turn, turn)
		}
		p.apply(u, false)
		p.want(fmt.Sprintf("before turn %d", turn), was[turn-1])
	}
	for _, want := range []map[string]string{was[1], was[2], end} {
		p.apply(p.redo(), false)
		p.want("brought back", want)
	}
	// After an undo the work goes on from there, and that can be undone too. What was
	// between the turns can be had by their number.
	p.apply(p.plan(4), false)
	p.turn(p.root)
	p.write(p.root, "f", "5")
	if u := p.plan(0); u.Turn != 5 {
		t.Fatalf("turn %d", u.Turn)
	}
	p.apply(p.plan(0), false)
	p.want("before turn 5", was[3])
	p.apply(p.plan(2), false)
	p.want("before turn 2", was[1])
	p.apply(p.plan(5), false)
	p.want("before turn 5 once more", was[3])
}

// A file that comes back has the mode it went with.
func TestUndoBringsModesBack(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	p.turn(p.root)
	p.write(p.root, "run.sh", "1")
	if err := os.Chmod(p.path("run.sh"), 0o751); err != nil {
		t.Fatal(err)
	}
	p.turn(p.root)
	p.write(p.root, "run.sh", "2")
	for _, bring := range []func() Undo{p.redo, func() Undo { return p.plan(2) }} {
		p.apply(p.plan(1), false)
		p.want("undone", map[string]string{})
		p.apply(bring(), false)
		if info, err := os.Stat(p.path("run.sh")); err != nil || info.Mode() != 0o751 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	p.want("before turn 2", map[string]string{"run.sh": "1"})
}

func TestUndoLeavesOthersWork(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	p.put("mine", "0")
	p.put("both", "0")
	p.put("gone", "0")
	p.put("theirs", "0")
	p.turn(p.root)
	for _, name := range []string{"mine", "both", "gone"} {
		p.write(p.root, name, "agent")
	}
	p.write(p.root, "new", "agent")
	p.put("theirs", "hand")
	p.put("both", "hand")
	if err := errors.Join(os.Remove(p.path("gone")), os.Remove(p.path("new"))); err != nil {
		t.Fatal(err)
	}
	now := p.disk()
	u := p.plan(1)
	got := map[string]wire.Obstacle{}
	for _, f := range u.Files {
		got[filepath.Base(f.Path)] = f.Obstacle
	}
	if want := (map[string]wire.Obstacle{"mine": "", "both": wire.ObstacleChanged,
		"gone": wire.ObstacleChanged}); !maps.Equal(got, want) || len(u.Same) != 1 {
		t.Errorf("obstacles %v; the same: %q", got, u.Same)
	}
	var ue *troupe.UserError
	if _, err := p.undo().applyUndo(t.Context(), u, false); !errors.As(err, &ue) ||
		!strings.Contains(ue.Problem, "2 of 3 files") || !strings.Contains(ue.Hint, "Forced, it replaces") {
		t.Errorf("%v", err)
	}
	p.want("refused", now)
	p.apply(u, true)
	p.want("forced", map[string]string{"mine": "0", "both": "0", "gone": "0", "theirs": "hand"})
	p.apply(p.redo(), false)
	p.want("taken back", now)
}

// What another hand did between two writes of the tools stays, unless it is forced; what was before which is said.
func TestUndoLeavesWhatWasBetween(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	p.put("f", "0")
	p.turn(p.root)
	p.write(p.root, "f", "1")
	p.put("f", "hand")
	p.turn(p.root)
	p.write(p.root, "f", "2")
	u := p.plan(1)
	if len(u.Files) != 1 || !u.Files[0].Mixed || u.Files[0].Obstacle != wire.ObstacleChanged ||
		u.Files[0].Problem != "something else changed it after main (in turn 1) and before main (in turn 2)" {
		t.Errorf("plan %+v", u.Files)
	}
	if _, err := p.undo().applyUndo(t.Context(), u, false); !errors.Is(err, troupe.ErrBlocked) {
		t.Errorf("without force: %v", err)
	}
	p.want("refused", map[string]string{"f": "2"})
	if u := p.plan(2); len(u.Files) != 1 || u.Files[0].Mixed || u.Files[0].Obstacle != "" {
		t.Errorf("plan %+v", u.Files)
	}
	p.apply(p.plan(2), false)
	p.want("before turn 2", map[string]string{"f": "hand"})
	p.apply(p.redo(), false)
	if u := p.plan(1); len(u.Files) != 1 || u.Files[0].Obstacle != wire.ObstacleChanged {
		t.Errorf("after a redo: plan %+v", u.Files)
	}
	p.apply(p.plan(1), true)
	p.want("before turn 1", map[string]string{"f": "0"})
	p.turn(p.root)
	p.write(p.root, "f", "3")
	p.apply(p.plan(1), false) // nothing of the hand's is in it any more
	p.want("before turn 1 again", map[string]string{"f": "0"})
}

// What a command of the session is known to have changed between two writes is no work of others.
func TestUndoTakesWhatACommandChangedBetween(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	p.put("f", "0")
	p.turn(p.root)
	p.write(p.root, "f", "1")
	p.put("f", "formatted")
	p.finished(p.root, "Bash", tool.Output{Evidence: troupe.Evidence{Commands: []troupe.CommandRun{{
		Command: "fmt f", Sandbox: troupe.LevelWorkspace,
		Watched: &troupe.Watched{Changed: []troupe.FileChanged{{Path: p.path("f")}}},
	}}}}, nil)
	p.write(p.root, "f", "2")
	p.apply(p.plan(1), false)
	p.want("before turn 1", map[string]string{"f": "0"})
}

// The next undo removes what one that was killed has left beside its files, whichever files it is about, and nothing of
// processes that live.
func TestUndoRemovesWhatAKilledOneLeft(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	p.turn(p.root)
	for _, name := range []string{"same/f", "cut/f", "next/f"} {
		p.write(p.root, name, "1")
	}
	p.turn(p.root)
	p.write(p.root, "other/f", "1")
	ended := exec.CommandContext(t.Context(), "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"same/f": "1", "cut/f": "1", "next/f": "1"}
	for _, dir := range []string{"same", "cut", "next", "other"} {
		p.put(fmt.Sprintf("%s/.troupe-%d-x.tmp", dir, ended.Process.Pid), "left")
		lives := fmt.Sprintf("%s/.troupe-%d-x.tmp", dir, os.Getpid())
		p.put(lives, "at work")
		want[lives] = "at work"
	}
	e := undoEntry{Number: 1, At: p.a.env.Now(), Turn: 1, Last: 1}
	for _, dir := range []string{"same", "cut", "next"} {
		e.Files = append(e.Files, undoneFile{Path: p.path(dir + "/f"), From: tool.Hash([]byte("1"))})
	}
	if err := p.a.undoJournal(p.root).begin(e); err != nil {
		t.Fatal(err)
	}
	p.apply(p.plan(2), false)
	p.want("after the next undo", want)
}

func TestUndoWithoutWhatWasKept(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	p.put("a", "0")
	p.put("b", "0")
	p.put("c", "0")
	p.turn(p.root)
	p.write(p.root, "a", "1")
	p.write(p.root, "b", "other")
	if err := os.RemoveAll(filepath.Join(p.a.outputDir(p.root), "content")); err != nil {
		t.Fatal(err)
	}
	// its first content is lost, the second is kept
	p.write(p.root, "b", "other still")
	// by a version that kept nothing
	p.finished(p.root, "Write", tool.Output{Evidence: troupe.Evidence{Files: []troupe.FileTouch{{
		Path: p.path("c"), Hash: tool.Hash([]byte("0")), Wrote: true,
	}}}}, nil)
	p.turn(p.root)
	p.write(p.root, "d", "1")
	now := p.disk()
	u := p.plan(1)
	if blocked := u.Blocked(true); len(blocked) != 3 || blocked[0].Obstacle != wire.ObstacleLost ||
		blocked[2].Obstacle != wire.ObstacleLost {
		t.Fatalf("blocked %+v", blocked)
	}
	if _, err := p.undo().applyUndo(t.Context(), u, false); err == nil {
		t.Error("half an undo was made")
	}
	p.want("refused", now)
	r := p.apply(u, true)
	if len(r.Left) != 3 || len(r.Files) != 1 {
		t.Errorf("report %+v", r)
	}
	delete(now, "d")
	p.want("forced", now)
}

func TestUndoOnlyAtThePlaceItself(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	p.put("sub/f", "0")
	p.put("g", "0")
	p.turn(p.root)
	p.write(p.root, "sub/f", "1")
	p.write(p.root, "g", "1")
	p.put("else/f", "1") // as the tool left it, but elsewhere
	err := errors.Join(
		os.RemoveAll(p.path("sub")), os.Symlink("else", p.path("sub")),
		os.Remove(p.path("g")), os.Mkdir(p.path("g"), 0o755),
	)
	if err != nil {
		t.Fatal(err)
	}
	u := p.plan(1)
	if blocked := u.Blocked(true); len(blocked) != 2 || blocked[0].Obstacle != wire.ObstaclePlace ||
		blocked[1].Obstacle != wire.ObstaclePlace {
		t.Fatalf("blocked %+v", blocked)
	}
	if r := p.apply(u, true); len(r.Files) != 0 || r.TakeBack != "" {
		t.Errorf("report %+v", r)
	}
	if b, err := os.ReadFile(p.path("else/f")); err != nil || string(b) != "1" {
		t.Errorf("%q, %v", b, err)
	}
}

// Work of descendants belongs to the turn that began it, or, once the root has gone on, to
// the turn the root was in by then.
func TestTurnsOfDescendants(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	p.put("f", "0")
	p.turn(p.root)
	fore := p.child(p.root, "Fore", false)
	p.write(fore, "fore", "1")
	p.turn(fore) // the child's own turns are not the root's
	p.turn(fore)
	grand := p.child(fore, "Grand", false)
	p.turn(grand)
	p.turn(grand)
	p.write(grand, "grand", "1")
	back := p.child(p.root, "Back", true)
	p.write(back, "f", "by back in 1")
	p.turn(p.root)
	p.write(back, "f", "by back in 2")
	p.write(p.root, "f", "by root in 2")
	p.turn(p.root)
	p.bash(back, "make in 3")
	p.write(back, "f", "by back in 3")

	turns, err := p.undo().changes(t.Context(), p.root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, turn := range turns {
		for _, f := range turn.Files {
			got = append(got, fmt.Sprintf("%d %s %s %d", turn.Number, filepath.Base(f.Path),
				strings.Join(f.Agents, " "), f.Writes))
		}
		for _, c := range turn.Commands {
			got = append(got, fmt.Sprintf("%d %s %s", turn.Number, c.Text, c.Agent))
		}
	}
	want := []string{
		"1 f main/Back 1", "1 fore main/Fore 1", "1 grand main/Fore/Grand 1",
		"2 f main main/Back 2", "3 f main/Back 1", "3 make in 3 main/Back",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	p.apply(p.plan(3), false)
	p.want("before turn 3", map[string]string{"f": "by root in 2", "fore": "1", "grand": "1"})
	p.apply(p.plan(2), false)
	p.want("before turn 2", map[string]string{"f": "by back in 1", "fore": "1", "grand": "1"})
	p.apply(p.plan(1), false)
	p.want("before turn 1", map[string]string{"f": "0"})

	// One that goes on writing after an undo has something that can be undone again.
	p.write(back, "f", "by back, later")
	if u := p.plan(0); u.Turn != 3 {
		t.Errorf("turn %d", u.Turn)
	}
}

// A clock that is set back turns neither a log around nor what follows from another.
func TestUndoWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	back := func() { *p.now = p.now.Add(-time.Hour) }
	p.put("f", "0")
	p.turn(p.root)
	p.write(p.root, "f", "1")
	back()
	p.write(p.root, "f", "2")
	back()
	p.turn(p.root)
	child := p.child(p.root, "Kid", false)
	back()
	p.write(child, "f", "3")
	back()
	if u := p.plan(0); u.Turn != 2 || len(u.Blocked(false)) != 0 {
		t.Fatalf("%+v", u)
	}
	p.apply(p.plan(2), false)
	p.want("before turn 2", map[string]string{"f": "2"})
	back()
	p.apply(p.plan(1), false)
	p.want("before turn 1", map[string]string{"f": "0"})
	back()
	p.apply(p.redo(), false)
	p.apply(p.redo(), false)
	p.want("brought back", map[string]string{"f": "3"})
}

// What may have changed anything is told, as long as it may have.
func TestUndoTellsOfCommands(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	task := func(call int) *troupe.Task {
		at := troupe.Coord{Reply: 1, Call: call}
		return &troupe.Task{ID: troupe.ShellTaskID(at), Kind: troupe.TaskShell, Coord: at, Background: true}
	}
	p.turn(p.root)
	for i := range 3 { // three in the background
		p.finished(p.root, "Bash", tool.Output{}, task(i))
	}
	ends := func(call int) {
		o := troupe.Outcome{Kind: troupe.TaskShell, Task: task(call).ID,
			Evidence: troupe.Evidence{Commands: []troupe.CommandRun{{Command: "in the background", ExitCode: 7}}}}
		p.log(p.root, troupe.MailDelivered{Mail: []troupe.Mail{{Kind: troupe.MailTaskEnded, Ended: &o}}})
	}
	ends(0)
	p.turn(p.root)
	ends(1)
	p.write(p.root, "f", "x")
	p.log(p.root, troupe.ToolStarted{Reply: 2, Call: 1, Name: "Bash"},
		troupe.ToolFinished{Name: "Bash", Result: troupe.Result{Reply: 2, Call: 1}, Interrupt: true})
	p.log(p.root, troupe.ToolStarted{Reply: 2, Call: 2, Name: "SendMessage"},
		troupe.ToolFinished{Name: "SendMessage", Result: troupe.Result{Reply: 2, Call: 2}})
	p.log(p.root, troupe.ToolStarted{Reply: 2, Call: 3, Name: "Bash"})
	p.turn(p.root)
	p.finished(p.root, "Bash", tool.Output{IsError: true}, nil) // it was not started

	var got []string
	for _, c := range p.plan(2).Commands {
		got = append(got, fmt.Sprintf("%d %s %s %d", c.Turn, c.Text, c.State, c.ExitCode))
	}
	want := []string{"1 in the background ended 7", "1 command 2 of 1 running 0", "2 command 1 of 2 cut off 0"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if u := p.plan(1); len(u.Commands) != 4 || u.Commands[0].Text != "in the background" {
		t.Errorf("%+v", u.Commands)
	}
}

func TestUndoOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	for _, turn := range []int{-1, 0, 1} {
		if _, err := p.undo().planUndo(t.Context(), p.root, turn); err == nil {
			t.Errorf("turn %d of none can be undone", turn)
		}
	}
	if turns, err := p.undo().changes(t.Context(), p.root); err != nil || len(turns) != 0 {
		t.Errorf("%v %v", turns, err)
	}
	if _, err := p.undo().planRedo(t.Context(), p.root); err == nil {
		t.Error("nothing can be taken back")
	}
	p.turn(p.root)
	p.bash(p.root, "make")
	if u := p.plan(1); len(u.Files)+len(u.Same) != 0 || len(u.Commands) != 1 {
		t.Errorf("%+v", u)
	}
}

// A tree that another process has in hand is left alone; one that is at rest is not.
func TestUndoWhileItRuns(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	p.turn(p.root)
	p.write(p.root, "f", "x")
	other, _ := playHouse(t, p.a.dirs.Data)
	release, err := other.trees.store.Register(t.Context(), troupe.Owner{ID: playOwner, PID: 4711, Host: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	u := p.plan(1)
	if _, err := p.undo().applyUndo(t.Context(), u, true); err == nil || !strings.Contains(err.Error(), "4711") {
		t.Errorf("%v", err)
	}
	p.want("refused", map[string]string{"f": "x"})
	s := &p.cast[p.root].s
	s.Status, s.EndedAt = troupe.Completed, p.a.env.Now()
	p.log(p.root, troupe.Ended{})
	child := p.child(p.root, "Still at it", true)
	if _, err := p.undo().applyUndo(t.Context(), u, true); err == nil || !strings.Contains(err.Error(), "4711") {
		t.Errorf("with a child at work: %v", err)
	}
	s = &p.cast[child].s
	s.Status, s.EndedAt = troupe.Completed, p.a.env.Now()
	p.log(child, troupe.Ended{})
	p.apply(p.plan(1), false)
	p.want("at rest", map[string]string{})
	if err := release(); err != nil {
		t.Fatal(err)
	}
}

// A process that dies between the files of an undo leaves each as it was or as it should
// be; the undo can be made to its end, or taken back.
func TestUndoCutOff(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"on", "back"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			p := onePlay(t)
			p.put("a", "0")
			p.put("b", "0")
			p.turn(p.root)
			for _, name := range []string{"a", "b", "c"} {
				p.write(p.root, name, "1")
			}
			now := p.disk()
			u := p.plan(1)
			e := undoEntry{Number: 1, At: p.a.env.Now(), Turn: 1, Last: 1}
			for _, f := range u.Files {
				s, err := stage(t.Context(), u.past, f)
				if err != nil {
					t.Fatal(err)
				}
				e.Files = append(e.Files, undoneFile{Path: f.Path, From: f.Now, To: f.To, Mode: uint32(s.Mode())})
				if len(e.Files) == 1 { // then it died
					defer func() {
						if err := s.Discard(); err != nil {
							t.Error(err)
						}
					}()
				}
				if filepath.Base(f.Path) == "b" {
					if err := errors.Join(p.a.undoJournal(p.root).begin(e), s.Publish()); err != nil {
						t.Fatal(err)
					}
				} else if err := s.Discard(); err != nil {
					t.Fatal(err)
				}
			}
			if way == "on" {
				again := p.plan(0)
				if again.Turn != 1 || len(again.Files) != 2 || len(again.Same) != 1 {
					t.Errorf("%+v", again)
				}
				p.apply(again, false)
				p.want("made to its end", map[string]string{"a": "0", "b": "0"})
				p.apply(p.redo(), false)
			} else {
				p.apply(p.redo(), false)
			}
			if way == "back" {
				p.want("taken back", now)
			}
		})
	}
}

// Of two undos that were planned at the same moment one is made.
func TestUndoTwiceAtOnce(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	p.put("f", "0")
	p.turn(p.root)
	p.write(p.root, "f", "1")
	p.turn(p.root)
	p.write(p.root, "g", "1")
	first, second := p.plan(2), p.plan(1)
	p.apply(first, false)
	if _, err := p.undo().applyUndo(t.Context(), second, true); err == nil {
		t.Error("both were made")
	}
	p.want("the first", map[string]string{"f": "1"})
}

// Nothing is changed if something fails on the way, be it the last file.
func TestUndoAllOrNothing(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	p.put("a", "0")
	p.put("z", "0")
	p.turn(p.root)
	p.write(p.root, "a", "1")
	p.write(p.root, "z", "1")
	u := p.plan(1)
	p.put("z", "hand")
	if _, err := p.undo().applyUndo(t.Context(), u, true); !errors.Is(err, files.ErrChanged) {
		t.Errorf("%v", err)
	}
	p.want("changed since the plan", map[string]string{"a": "1", "z": "hand"})
	p.put("z", "1")
	dir := p.a.undoJournal(p.root).dir
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.undo().applyUndo(t.Context(), u, true); err == nil {
		t.Error("an undo without a record")
	}
	p.want("no record can be made", map[string]string{"a": "1", "z": "1"})
}

func TestRemoveTakesWhatWasKept(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	p.put("f", "0")
	p.turn(p.root)
	p.write(p.root, "f", "1")
	p.apply(p.plan(1), false)
	if err := you(p.a).Remove(t.Context(), p.root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.a.outputDir(p.root)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
