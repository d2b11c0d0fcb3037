package worktree

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
)

// world is a caller and agents that change random files, in lines of which none is like another.
type world struct {
	*bench
	rt    *rapid.T
	lines int
	added map[string]string // lines by who wrote them
	gone  map[string]bool   // lines that one of them removed
}

func (w *world) line(who string) string {
	w.lines++
	line := fmt.Sprintf("%s writes line %d\n", who, w.lines)
	w.added[line] = who
	return line
}

// files are what a folder has, repositories apart.
func (w *world) files(dir string) map[string]string {
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && e.Name() == ".git" {
			return filepath.SkipDir
		}
		if !e.IsDir() {
			found[strings.TrimPrefix(path, dir+"/")] = get(path)
		}
		return nil
	})
	if err != nil {
		w.rt.Fatal(err)
	}
	return found
}

// change does something to the files of a folder.
func (w *world) change(who, dir string) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(w.files(dir))), func(name string) bool {
		return strings.HasPrefix(name, ".git")
	})
	what := rapid.SampledFrom([]string{"insert", "insert", "insert", "replace", "delete", "new", "remove",
		"move"}).Draw(
		w.rt, "what "+who)
	if what == "new" || len(names) == 0 {
		name := fmt.Sprintf("f%d.txt", rapid.IntRange(0, 9).Draw(w.rt, "new"))
		if !there(filepath.Join(dir, name)) {
			put(w.t, filepath.Join(dir, name), w.line(who)+w.line(who)+w.line(who))
		}
		return
	}
	path := filepath.Join(dir, rapid.SampledFrom(names).Draw(w.rt, "file"))
	lines := slices.Collect(strings.Lines(get(path)))
	at := rapid.IntRange(0, len(lines)).Draw(w.rt, "at")
	switch {
	case what == "move":
		to := filepath.Join(dir, fmt.Sprintf("moved%d/f.txt", rapid.IntRange(0, 9).Draw(w.rt, "to")))
		if !there(filepath.Dir(to)) {
			put(w.t, to, get(path))
			w.must(os.Remove(path))
		}
		return
	case what == "remove":
		for _, line := range lines {
			w.gone[line] = true
		}
		w.must(os.Remove(path))
		return
	case what == "insert" || at == len(lines):
		lines = slices.Insert(lines, at, w.line(who))
	case what == "replace":
		w.gone[lines[at]] = true
		lines[at] = w.line(who)
	default:
		w.gone[lines[at]] = true
		lines = slices.Delete(lines, at, at+1)
	}
	put(w.t, path, strings.Join(lines, ""))
}

func (w *world) must(err error) {
	if err != nil {
		w.rt.Fatal(err)
	}
}

// resolve keeps all lines of both sides.
func (w *world) resolve(ws troupe.Workspace, h Handed) {
	for _, path := range h.Marked {
		pieces, err := parseConflict(get(path), markerShown)
		w.must(err)
		text := ""
		for _, p := range pieces {
			if p.hunk == nil {
				text += p.text
				continue
			}
			for line := range strings.Lines(p.hunk.Base.Text) {
				w.gone[line] = true
			}
			text += p.hunk.Ours.Text + w.line(ws.Name) + p.hunk.Theirs.Text
		}
		put(w.t, path, text)
	}
}

// merged brings the work of an agent over. It must come to an end, with nothing lost on the way.
func (w *world) merged(ws troupe.Workspace) {
	work := w.files(ws.Top)
	for range 3 {
		index, refs, was := get(filepath.Join(w.dir, ".git/index")), w.git(w.dir, "for-each-ref"), w.files(w.dir)
		m := w.merge(ws, Into{})
		if few := w.merge(ws, Into{Listed: true}); seen(few) != seen(m) {
			w.rt.Fatalf("listed as %s\nand merged as %s", seen(few), seen(m))
		}
		if now := w.files(w.dir); !maps.Equal(now, was) {
			w.rt.Fatal("merging wrote to the folder")
		}
		if len(m.Conflicts) == 0 {
			if _, err := Apply(w.dir, m.Changes); err != nil {
				w.rt.Fatalf("apply: %v", err)
			}
			if get(filepath.Join(w.dir, ".git/index")) != index || w.git(w.dir, "for-each-ref") != refs {
				w.rt.Error("the caller's index or refs changed")
			}
			w.untouched(was, m)
			w.whole(ws, was, work)
			return
		}
		if len(m.Changes) > 0 {
			w.rt.Fatalf("changes beside conflicts: %+v", m)
		}
		h, err := w.k.HandBack(w.t.Context(), ws, Into{})
		w.must(err)
		w.resolve(ws, h)
		var theirs []string
		for _, c := range h.Open {
			theirs = append(theirs, strings.Replace(c.Path, ws.Top, w.dir, 1))
		}
		if len(theirs) == 0 {
			continue
		}
		// One side removed or moved what the other changed: the agent's side is taken whole.
		for _, path := range theirs {
			for line := range strings.Lines(get(path)) {
				w.gone[line] = true
			}
		}
		if m = w.merge(ws, Into{Theirs: theirs}); len(m.Conflicts) == 0 {
			_, err := Apply(w.dir, m.Changes)
			w.must(err)
			w.whole(ws, was, work)
			return
		}
	}
	w.rt.Fatalf("it does not merge: %+v", w.merge(ws, Into{}).Conflicts)
}

// seen is what a merge shows.
func seen(m Merged) string {
	var b strings.Builder
	fmt.Fprintf(&b, "already %v, %d files +%d -%d, left %q", m.Already, m.Files, m.Added, m.Removed, m.Left)
	for _, c := range m.Changes {
		fmt.Fprintf(&b, "\n%s %v %s", c.Path, c.Gone, c.Content)
	}
	for _, c := range m.Conflicts {
		fmt.Fprintf(&b, "\n%s: %s %+v", c.Path, c.Why, c.Hunks)
	}
	return b.String()
}

// untouched: files that are no part of a merge are as they were.
func (w *world) untouched(was map[string]string, m Merged) {
	for name, now := range w.files(w.dir) {
		if was[name] != now && !slices.ContainsFunc(m.Changes, func(c Change) bool {
			return c.Path == filepath.Join(w.dir, name)
		}) {
			w.rt.Errorf("%s is no part of the merge, and changed", name)
		}
	}
}

// whole: each line that the caller had or the agent wrote is there, unless one of them removed it.
func (w *world) whole(ws troupe.Workspace, was, work map[string]string) {
	all := strings.Join(slices.Collect(maps.Values(w.files(w.dir))), "")
	for _, side := range []map[string]string{was, work} {
		for name, text := range side {
			for line := range strings.Lines(text) {
				if !w.gone[line] && !strings.Contains(all, line) {
					w.rt.Errorf("%s: a line of %s was lost: %s", ws.Name, name, line)
				}
			}
		}
	}
	if strings.Contains(all, "<<<<<<<") || strings.Contains(all, ">>>>>>>") {
		w.rt.Error("markers got to the caller")
	}
}

// TestMergeLosesNothing: whatever a caller and two agents do, every line of each is in the end where it was meant to
// be, or someone removed it.
func TestMergeLosesNothing(t *testing.T) {
	checks := flag.Lookup("rapid.checks")
	if checks.Value.String() == checks.DefValue { // a hundred take minutes
		if err := flag.Set(checks.Name, "4"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = flag.Set(checks.Name, checks.DefValue) }() // it was set to that before
	}
	first := newBench(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{bench: first.again(t), rt: rt, added: map[string]string{}, gone: map[string]bool{}}
		for i := range 3 {
			text := ""
			for range 6 {
				text += w.line("base")
			}
			w.write(fmt.Sprintf("f%d.txt", i), text)
		}
		agents := []troupe.Workspace{w.made("ada"), w.made("bob")}
		for range 2 {
			for _, ws := range agents {
				for range rapid.IntRange(0, 4).Draw(rt, "changes") {
					w.change(ws.Name, ws.Top)
				}
			}
			for range rapid.IntRange(0, 2).Draw(rt, "changes of the caller") {
				w.change("caller", w.dir)
			}
			for _, ws := range agents {
				w.merged(ws)
			}
		}
	})
}
