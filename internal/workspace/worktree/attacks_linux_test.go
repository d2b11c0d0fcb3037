package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestS08CleanUp: an end removes links and never what they lead to, whatever lies where it puts the folder first; and
// work that is untracked, or on no branch of the caller's, is kept before.
func TestS08CleanUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	victim := filepath.Join(b.home, "victim")
	put(t, filepath.Join(victim, "deep/keep.txt"), "keep\n")
	ws := b.made("links")
	put(t, filepath.Join(ws.Top, "own.txt"), "line committed\n")
	b.git(ws.Top, "add", "-A")
	b.git(ws.Top, "commit", "-qm", "own")
	put(t, filepath.Join(ws.Top, "shut/new.txt"), "line untracked\n")
	for name, to := range map[string]string{"abs": victim, "shut/up": "../../../../victim", "caller": b.dir,
		"shut/file": filepath.Join(victim, "deep/keep.txt")} {
		if err := os.Symlink(to, filepath.Join(ws.Top, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(ws.Top, "shut"), 0o500); err != nil {
		t.Fatal(err)
	}
	p, err := b.k.place(ws)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, p.gone); err != nil { // where the folder is put before it is removed
		t.Fatal(err)
	}
	caller := b.files()
	if res := b.close(ws); !res.Gone || there(ws.Top) || there(p.gone) {
		t.Errorf("result: %+v", res)
	}
	if get(filepath.Join(victim, "deep/keep.txt")) != "keep\n" || fmt.Sprint(b.files()) != fmt.Sprint(caller) {
		t.Error("what links lead to was touched")
	}
	b.has(b.dir, []string{"line committed", "line untracked"})
}

// TestS05Removed: a folder that is gone is not taken for any other: nothing is saved of one that is not there, and the
// caller's does not stand in for it.
func TestS05Removed(t *testing.T) {
	t.Parallel()
	for way, remove := range map[string]func(b *bench, top string) error{
		"removed": func(_ *bench, top string) error { return os.RemoveAll(top) },
		"a link to the caller's": func(b *bench, top string) error {
			if err := os.RemoveAll(top); err != nil {
				return err
			}
			return os.Symlink(b.dir, top)
		},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			ws := b.made("agent")
			put(t, filepath.Join(ws.Top, "own.txt"), "line of the agent\n")
			b.save(ws)
			if err := remove(b, ws.Top); err != nil {
				t.Fatal(err)
			}
			b.write("theirs.txt", "line of the caller\n")
			for _, changed := range [][]string{nil, {filepath.Join(ws.Top, "theirs.txt")}} {
				if got, err := b.k.Save(t.Context(), ws, changed, ""); err == nil ||
					!strings.Contains(err.Error(), "not at "+ws.Top+" any more") {
					t.Errorf("saved: %+v, %v", got, err)
				}
			}
			b.open(ws)
			if get(filepath.Join(ws.Top, "own.txt")) != "line of the agent\n" ||
				there(filepath.Join(ws.Top, "theirs.txt")) {
				t.Error("it is not what was saved")
			}
			if res := b.close(ws); res.Files != 1 || b.show(res.Tip, "own.txt") != "line of the agent\n" {
				t.Errorf("closed: %+v", res)
			}
			if get(filepath.Join(b.dir, "theirs.txt")) != "line of the caller\n" {
				t.Error("the caller's file has gone")
			}
		})
	}
}

// TestHostileSubmodules: what .gitmodules says of a submodule is not run, fetched or followed.
func TestHostileSubmodules(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	command, ran := b.evil()
	head := b.git(b.dir, "rev-parse", "HEAD")
	for name, settings := range map[string]string{
		"ext":     "url = ext::" + command + "\n\tupdate = !" + command,
		"file":    "url = file://" + b.home + "/project\n\tupdate = checkout\n\tshallow = true",
		"short":   "url = -u" + command + "\n\tbranch = -u" + command,
		"options": "url = --upload-pack=" + command + "\n\tupdate = rebase",
		"out": "url = " + b.home + "\n\tupdate = !" + command +
			"\n\tignore = none\n\tfetchRecurseSubmodules = true",
	} {
		f, err := os.OpenFile(filepath.Join(b.dir, ".gitmodules"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(f, "[submodule \"../../%s\"]\n\tpath = %s\n\t%s\n", name, name, settings)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		b.git(b.dir, "update-index", "--add", "--cacheinfo", "160000,"+head+","+name)
	}
	b.git(b.dir, "config", "submodule.recurse", "true")
	b.git(b.dir, "config", "submodule.ext.update", "!"+command)
	b.git(b.dir, "add", ".gitmodules")
	b.git(b.dir, "commit", "-qm", "submodules")
	ws := b.plan("hostile")
	base := b.open(ws)
	if len(base.Left) != 5 || there(filepath.Join(ws.Top, "ext", ".git")) ||
		there(filepath.Join(ws.Top, "file", ".git")) {
		t.Errorf("left: %v", base.Left)
	}
	put(t, filepath.Join(ws.Top, "a.txt"), "2\n")
	b.save(ws)
	res := b.close(ws)
	if ran() || !res.Gone || res.Files != 1 {
		t.Errorf("ran: %v, %+v", ran(), res)
	}
	if m := b.merge(ws, Into{}); len(m.Changes) != 1 || ran() {
		t.Errorf("merged: %+v, ran %v", m, ran())
	}
}

// TestHostileAlternates: a caller's repository borrows from itself, from too many others, or from a name that is not
// understood: it is read, or refused with the reason, and no line of it reaches another file of ours.
func TestHostileAlternates(t *testing.T) {
	t.Parallel()
	for way, tt := range map[string]struct {
		lines   func(b *bench) string
		refused string
	}{
		"itself":     {func(*bench) string { return "../objects\n./\n../../.git/objects\n" }, ""},
		"each other": {func(b *bench) string { return b.home + "/other/.git/objects\n" }, ""},
		"quoted":     {func(b *bench) string { return `"` + b.home + `\056git/objects"` + "\n" }, "not understood"},
		"many": {func(b *bench) string {
			var lines strings.Builder
			for i := range 80 {
				at := filepath.Join(b.home, "lender", fmt.Sprint(i))
				if err := os.MkdirAll(at, 0o700); err != nil {
					b.t.Fatal(err)
				}
				lines.WriteString(at + "\n")
			}
			return lines.String()
		}, "too many"},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.git(b.home, "init", "-q", "other")
			put(t, filepath.Join(b.home, "other/.git/objects/info/alternates"), b.dir+"/.git/objects\n")
			put(t, filepath.Join(b.dir, ".git/objects/info/alternates"), tt.lines(b))
			ws, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, From: b.dir})
			if err == nil {
				_, err = b.k.Open(t.Context(), ws, Making{})
			}
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) {
					t.Errorf("not refused: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(ws.Top, "own.txt"), "own\n")
			if res := b.close(ws); !res.Gone || b.show(res.Tip, "own.txt") != "own\n" {
				t.Errorf("result: %+v", res)
			}
			b.fsck(filepath.Join(b.dir, ".git"))
		})
	}
}
