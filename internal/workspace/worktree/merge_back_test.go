package worktree

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

func (b *bench) handBack(ws troupe.Workspace) Handed {
	b.t.Helper()
	h, err := b.k.HandBack(b.t.Context(), ws, Into{})
	if err != nil {
		b.t.Fatal(err)
	}
	return h
}

// TestHandBack: two of three agents merge, the third's conflict is resolved in its worktree, and no line is lost.
func TestHandBack(t *testing.T) {
	b := newBench(t)
	b.write("shared.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	first, second, third := b.made("first"), b.made("second"), b.made("third")
	put(t, filepath.Join(first.Top, "shared.txt"), "uno\n2\n3\n4\n5\n6\n7\n8\n9\n")
	put(t, filepath.Join(first.Top, "first.txt"), "first\n")
	put(t, filepath.Join(second.Top, "shared.txt"), "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")
	mine := "1\n2\n3\nfour\n5\n6\n7\n8\nneun\n"
	put(t, filepath.Join(third.Top, "shared.txt"), mine)
	put(t, filepath.Join(third.Top, "third.txt"), "third\n")
	b.git(third.Top, "add", "-A")
	b.git(third.Top, "commit", "-qm", "by the third")
	b.brought(first)
	b.brought(second)
	base := b.git(b.dir, "rev-parse", "refs/troupe/"+string(third.Owner)+"/base")
	h := b.handBack(third)
	path := filepath.Join(third.Top, "shared.txt")
	marked := "uno\n2\n3\nfour\n5\n6\n7\n8\n" +
		"<<<<<<< caller, changed by second\nnine\n||||||| base\n9\n=======\nneun\n>>>>>>> third\n"
	if len(h.Marked) != 1 || h.Marked[0] != path || len(h.Open) > 0 || h.Files != 2 || get(path) != marked {
		t.Errorf("handed back: %+v, %s", h, get(path))
	}
	if get(filepath.Join(third.Top, "first.txt")) != "first\n" {
		t.Error("what the first did is not there")
	}
	// What is not resolved, or was thrown away, conflicts as before.
	conflicts := func(what string) {
		t.Helper()
		if m := b.merge(third, Into{}); len(m.Changes) > 0 || len(m.Conflicts) != 1 {
			t.Errorf("%s: %+v", what, m)
		}
	}
	conflicts("with markers")
	put(t, path, mine)
	conflicts("put back")
	put(t, path, "uno\n2\n3\nfour\n5\n6\n7\n8\nneun\n")
	conflicts("its own side as it was")
	if c := b.merge(third, Into{}).Conflicts[0]; !strings.Contains(c.Why, "was handed it and has resolved it") {
		t.Errorf("it is not said that the agent has decided: %s", c.Why)
	}
	put(t, path, "1\n2\n3\nfour\n5\n6\n7\n8\nnine/neun\n")
	conflicts("resolved, but without what the first did")
	put(t, path, marked)
	b.git(b.dir, "gc", "-q", "--prune=now")
	put(t, path, "uno\n2\n3\nfour\n5\n6\n7\n8\nnine\nneun\n")
	b.git(third.Top, "add", "-A")
	b.git(third.Top, "commit", "-qm", "resolved")
	diff, _, err := b.k.Diff(t.Context(), third, ToRead)
	if err != nil || strings.Contains(diff, "first") || !strings.Contains(diff, " uno\n") ||
		!strings.Contains(diff, "+neun\n") {
		t.Errorf("what it did itself: %v\n%s", err, diff)
	}
	b.write("first.txt", "first\nand the caller\n") // who goes on meanwhile
	b.close(third)
	b.brought(third)
	for name, want := range map[string]string{"shared.txt": "uno\n2\n3\nfour\n5\n6\n7\n8\nnine\nneun\n",
		"first.txt": "first\nand the caller\n", "third.txt": "third\n"} {
		if got := get(filepath.Join(b.dir, name)); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := b.git(b.dir, "rev-parse", "refs/troupe/"+string(third.Owner)+"/base"); got != base {
		t.Error("the base moved")
	}
	b.fsck(filepath.Join(b.dir, ".git"), filepath.Join(b.k.data, string(third.Owner), "repo.git"))
}

// TestHandBackMoved: a conflict in a file that the agent moved is resolved where it is now.
func TestHandBackMoved(t *testing.T) {
	b := newBench(t)
	b.write("f.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	ws := b.made("moved")
	b.shell(ws.Top, "mkdir m && git mv f.txt m/f.txt")
	put(t, filepath.Join(ws.Top, "m/f.txt"), "one\n2\n3\n4\n5\n6\n7\n8\n9\n")
	b.write("f.txt", "uno\n2\n3\n4\n5\n6\n7\n8\nnine\n")
	if h := b.handBack(ws); len(h.Marked) != 1 || h.Marked[0] != filepath.Join(ws.Top, "m/f.txt") {
		t.Errorf("handed back: %+v", h)
	}
	put(t, filepath.Join(ws.Top, "m/f.txt"), "one, uno\n2\n3\n4\n5\n6\n7\n8\nnine\n")
	b.brought(ws)
	if got := get(filepath.Join(b.dir, "m/f.txt")); got != "one, uno\n2\n3\n4\n5\n6\n7\n8\nnine\n" ||
		there(filepath.Join(b.dir, "f.txt")) {
		t.Errorf("merged: %q", got)
	}
}

// TestHandedMarkers: markers do not get to the caller, even when what they were about is gone there.
func TestHandedMarkers(t *testing.T) {
	b := newBench(t)
	ws := b.made("marked")
	put(t, filepath.Join(ws.Top, "a.txt"), "one\nzwei\nthree\n")
	b.write("a.txt", "one\n2\nthree\n")
	b.handBack(ws)
	b.write("a.txt", "one\ntwo\nthree\n")
	if m := b.merge(ws, Into{}); len(m.Changes) > 0 || len(m.Conflicts) != 1 ||
		!strings.Contains(m.Conflicts[0].Why, "markers") {
		t.Errorf("%+v", m)
	}
	put(t, filepath.Join(ws.Top, "a.txt"), "one\nzwei\nthree\n")
	b.brought(ws)
	if got := get(filepath.Join(b.dir, "a.txt")); got != "one\nzwei\nthree\n" {
		t.Errorf("merged: %q", got)
	}
}

// TestTakeSides: where neither merging nor a change resolves a conflict, the caller takes one side.
func TestTakeSides(t *testing.T) {
	b := newBench(t)
	b.write("bin", "\x00base")
	b.write("kept.txt", "kept\n")
	ws := b.made("sides")
	for name, text := range map[string]string{"bin": "\x00theirs", "a.txt": "theirs\n"} {
		put(t, filepath.Join(ws.Top, name), text)
	}
	b.git(ws.Top, "rm", "-qf", "kept.txt", "sub/b.txt")
	for name, text := range map[string]string{"bin": "\x00ours", "a.txt": "ours\n", "kept.txt": "changed\n",
		"sub/b.txt": "changed\n"} {
		b.write(name, text)
	}
	m := b.merge(ws, Into{})
	var why []string
	for _, c := range m.Conflicts {
		why = append(why, filepath.Base(c.Path)+": "+c.Why)
	}
	if got := strings.Join(why, "\n"); got != "a.txt: both sides changed it in one place\n"+
		"bin: both sides changed it, and it is not text\nkept.txt: changed here, deleted by sides\n"+
		"b.txt: changed here, deleted by sides" {
		t.Errorf("conflicts: %s", got)
	}
	h := b.handBack(ws)
	if len(h.Marked) != 1 || len(h.Open) != 3 {
		t.Errorf("handed back: %+v", h)
	}
	if m = b.merge(ws, Into{}); len(m.Conflicts) != 4 {
		t.Errorf("not resolved: %+v", m)
	}
	if got := b.git(ws.Top, "show", h.Commit+":kept.txt"); got != "changed" {
		t.Errorf("the agent sees %q", got)
	}
	put(t, filepath.Join(ws.Top, "bin"), "\x00both")
	put(t, filepath.Join(ws.Top, "a.txt"), "both\n")
	at := func(name string) string { return filepath.Join(b.dir, name) }
	m = b.merge(ws, Into{Theirs: []string{at("kept.txt")}, Ours: []string{at("sub/b.txt")}})
	if len(m.Conflicts) > 0 {
		t.Fatalf("conflicts: %+v", m.Conflicts)
	}
	if _, err := Apply(b.dir, m.Changes); err != nil {
		t.Fatal(err)
	}
	if get(at("bin")) != "\x00both" || get(at("a.txt")) != "both\n" || there(at("kept.txt")) ||
		get(at("sub/b.txt")) != "changed\n" {
		t.Error("the sides were not taken")
	}
}

// TestHandBackHalf: a process that dies before the files are written has handed nothing back.
func TestHandBackHalf(t *testing.T) {
	b := newBench(t)
	ws := b.made("half")
	mine := "one\nzwei\nthree\n"
	put(t, filepath.Join(ws.Top, "a.txt"), mine)
	b.write("a.txt", "one\n2\nthree\n")
	b.write("new.txt", "the caller's\n")
	for _, at := range []string{"transferred", "handed back"} {
		b.k.step = func(name string) error {
			if name == at {
				return errors.New("killed")
			}
			return nil
		}
		if _, err := b.k.HandBack(t.Context(), ws, Into{}); err == nil {
			t.Fatal("it did not die")
		}
		b.k = b.keeper()
		if m := b.merge(ws, Into{}); len(m.Changes) > 0 || len(m.Conflicts) != 1 {
			t.Errorf("%s: %+v", at, m)
		}
		if got := get(filepath.Join(ws.Top, "a.txt")); got != mine {
			t.Errorf("%s: %q", at, got)
		}
	}
	b.handBack(ws)
	put(t, filepath.Join(ws.Top, "a.txt"), "one\nzwei (2)\nthree\n")
	b.brought(ws)
	if get(filepath.Join(b.dir, "a.txt")) != "one\nzwei (2)\nthree\n" ||
		get(filepath.Join(b.dir, "new.txt")) != "the caller's\n" {
		t.Error("a line is lost")
	}
	b.fsck(filepath.Join(b.dir, ".git"))
}

// TestHandBackJudged: what conflicts by now is asked about before anything is handed back; a no leaves all as it is.
func TestHandBackJudged(t *testing.T) {
	b := newBench(t)
	ws := b.made("judged")
	put(t, filepath.Join(ws.Top, "a.txt"), "one\nzwei\nthree\n")
	put(t, filepath.Join(ws.Top, "sub/b.txt"), "mine\n")
	b.write("a.txt", "one\n2\nthree\n")
	b.write("new.txt", "the caller's\n")
	judge := Into{Judge: func(paths []string) error {
		if len(paths) > 1 {
			return errors.New(strings.Join(paths, " "))
		}
		return nil
	}}
	b.write("sub/b.txt", "theirs\n") // after it was judged
	_, err := b.k.HandBack(t.Context(), ws, judge)
	want := filepath.Join(b.dir, "a.txt") + " " + filepath.Join(b.dir, "sub/b.txt")
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if get(filepath.Join(ws.Top, "a.txt")) != "one\nzwei\nthree\n" || there(filepath.Join(ws.Top, "new.txt")) {
		t.Error("something was handed back")
	}
	b.write("sub/b.txt", "b\n")
	if h, err := b.k.HandBack(t.Context(), ws, judge); err != nil || len(h.Marked) != 1 {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestRecall: what was declined is a change again once that was recalled, or is another by then, also for the process
// after this one.
func TestRecall(t *testing.T) {
	b := newBench(t)
	ws := b.made("recalled")
	file := filepath.Join(ws.Top, "a.txt")
	put(t, file, "the agent's\n")
	paths := []string{filepath.Join(b.dir, "a.txt")}
	own := b.merge(ws, Into{Ours: paths}).Own
	for _, step := range []struct {
		agent string
		do    func(k *Keeper) error
		want  int
	}{
		{"the agent's\n", func(k *Keeper) error { return k.Decline(t.Context(), ws, own) }, 0},
		{"the agent's\n", func(k *Keeper) error { return k.Recall(t.Context(), ws, paths) }, 1},
		// Between the merge and the decision the agent goes on: that nobody has declined.
		{"another of the agent's\n", func(k *Keeper) error { return k.Decline(t.Context(), ws, own) }, 1},
	} {
		put(t, file, step.agent)
		if err := step.do(b.k); err != nil {
			t.Fatal(err)
		}
		b.k = b.keeper()
		if m := b.merge(ws, Into{}); len(m.Changes) != step.want {
			t.Errorf("%+v, want %d changes", m, step.want)
		}
	}
}

// TestHandBackHalfResolved: of a file that is handed back again what its agent has resolved stays, as long as the
// caller has not changed the file since.
func TestHandBackHalfResolved(t *testing.T) {
	text := func(first, last string) string { return first + "\n2\n3\n4\n5\n6\n7\n8\n" + last + "\n" }
	b := newBench(t)
	b.write("f.txt", text("1", "9"))
	ws := b.made("half")
	path := filepath.Join(ws.Top, "f.txt")
	put(t, path, text("one", "nine"))
	b.write("f.txt", text("uno", "nove"))
	b.handBack(ws)
	first, last, ok := strings.Cut(get(path), "2\n3\n")
	if !ok || strings.Count(first, "<<<<<<<") != 1 || strings.Count(last, "<<<<<<<") != 1 {
		t.Fatalf("handed back: %s", get(path))
	}
	half := "one, uno\n2\n3\n" + last
	put(t, path, half)
	b.write("other.txt", "the caller's\n")
	if h := b.handBack(ws); len(h.Marked) != 1 || h.Marked[0] != path || get(path) != half {
		t.Errorf("handed back again: %+v, %s", h, get(path))
	}
	if get(filepath.Join(ws.Top, "other.txt")) != "the caller's\n" {
		t.Error("what else the caller did is not there")
	}
	b.write("f.txt", text("eins", "nove"))
	if h := b.handBack(ws); len(h.Marked) != 1 || !strings.Contains(get(path), "eins\n") ||
		strings.Count(get(path), "<<<<<<<") != 2 {
		t.Errorf("handed back when the caller has changed it: %+v, %s", h, get(path))
	}
}

// TestDeclinedIsListed: a file of which the caller has kept its own is listed as long as that is so: no more once the
// caller has what the workspace has, or its agent has gone on with it.
func TestDeclinedIsListed(t *testing.T) {
	b := newBench(t)
	ws := b.made("declined")
	file := filepath.Join(ws.Top, "a.txt")
	put(t, file, "the agent's\n")
	own := b.merge(ws, Into{Ours: []string{filepath.Join(b.dir, "a.txt")}}).Own
	if err := b.k.Decline(t.Context(), ws, own); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		caller, agent, declined string
		changes                 int
	}{
		{"one\ntwo\nthree\n", "the agent's\n", "[a.txt]", 0},
		{"the agent's\n", "the agent's\n", "[]", 0},
		{"one\ntwo\nthree\n", "gone on with\n", "[]", 1},
	} {
		b.write("a.txt", x.caller)
		put(t, file, x.agent)
		m := b.merge(ws, Into{})
		if fmt.Sprint(m.Declined) != x.declined || len(m.Changes) != x.changes || len(m.Conflicts) > 0 {
			t.Errorf("%q beside %q: %+v", x.agent, x.caller, m)
		}
	}
}

// TestHandBackTwice: what was handed back first is kept beside what is handed back then.
func TestHandBackTwice(t *testing.T) {
	b := newBench(t)
	ws := b.made("twice")
	put(t, filepath.Join(ws.Top, "a.txt"), "one\nzwei\nthree\n")
	var commits []string
	for _, text := range []string{"one\n2\nthree\n", "one\nII\nthree\n"} {
		b.write("a.txt", text)
		commits = append(commits, b.handBack(ws).Commit)
	}
	b.collected()
	for _, id := range commits {
		b.git(b.dir, "cat-file", "-e", id+"^{commit}")
	}
}
