package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// blocked is why a merge cannot be, file by file; "" if it can.
func (b *bench) blocked(ws troupe.Workspace, in Into) string {
	b.t.Helper()
	m := b.merge(ws, in)
	var why []string
	for _, c := range m.Conflicts {
		why = append(why, strings.TrimPrefix(c.Path, b.dir+"/")+": "+c.Why)
	}
	if len(why) > 0 && len(m.Changes) > 0 {
		b.t.Errorf("changes beside conflicts: %+v", m)
	}
	return strings.Join(why, "; ")
}

// TestMergeRunsNothing: what the attributes and settings of either side name is not run.
func TestMergeRunsNothing(t *testing.T) {
	b := newBench(t)
	ran := filepath.Join(b.home, "ran")
	script := filepath.Join(b.home, "evil.sh")
	put(t, script, "#!/bin/sh\necho \"$0 $*\" >> "+ran+"\ncat\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	b.write(".gitattributes", "*.txt merge=evil diff=evil\nu.md merge=union\n")
	b.write("u.md", "1\n")
	b.git(b.dir, "add", "-A")
	b.git(b.dir, "commit", "-qm", "attributes")
	ws := b.made("evil")
	for _, dir := range []string{b.dir, ws.Top} {
		for name, value := range map[string]string{"merge.evil.driver": script + " %A", "merge.default": "evil",
			"diff.evil.command": script, "diff.evil.textconv": script, "diff.external": script,
			"core.fsmonitor": script, "core.hooksPath": b.home, "core.pager": script, "gpg.program": script,
			"commit.gpgsign": "true", "core.editor": script, "core.attributesFile": script} {
			b.git(dir, "config", name, value)
		}
	}
	put(t, filepath.Join(b.home, "post-index-change"), get(script))
	put(t, filepath.Join(ws.Top, "a.txt"), "1\ntwo\nthree\n")
	put(t, filepath.Join(ws.Top, "u.md"), "1\ntheirs\n")
	b.write("a.txt", "one\ntwo\n3\n")
	b.write("u.md", "1\nours\n")
	b.write("sub/b.txt", "ours\n")
	m := b.merge(ws, Into{})
	if len(m.Conflicts) > 0 || len(m.Changes) != 2 || string(m.Changes[1].Content) != "1\nours\ntheirs\n" {
		t.Errorf("merged: %+v", m)
	}
	put(t, filepath.Join(ws.Top, "sub/b.txt"), "theirs\n")
	b.handBack(ws)
	if _, _, err := b.k.Diff(t.Context(), ws, ToRead); err != nil {
		t.Error(err)
	}
	if _, _, err := b.onto(ws, "fresh"); err == nil {
		t.Error("markers are put on a branch")
	}
	put(t, filepath.Join(ws.Top, "sub/b.txt"), "both\n")
	if _, _, err := b.onto(ws, "fresh"); err != nil {
		t.Error(err)
	}
	if there(ran) {
		t.Errorf("it ran %s", get(ran))
	}
}

// TestMergeWritesNothingElse: what a merge would write over without knowing it is a conflict.
func TestMergeWritesNothingElse(t *testing.T) {
	b := newBench(t)
	b.write("d/x.txt", "x\n")
	b.write("e/x.txt", "x\n")
	b.write("gone.txt", "gone\n")
	b.write("secret.env", "PUBLIC=1\n")
	b.git(b.dir, "add", "-A")
	b.git(b.dir, "commit", "-qm", "more")
	outside := filepath.Join(b.home, "outside")
	put(t, filepath.Join(outside, "x.txt"), "outside\n")
	hidden := Into{Hidden: func(path string) bool { return strings.HasSuffix(path, ".env") }}
	for _, c := range []struct{ name, agent, caller, want string }{
		{"an ignored file", "echo new > x.log; git add -f x.log; git commit -qm log", "echo mine > x.log",
			"x.log: an ignored or unreadable file is in its place"},
		{"a link above", "echo new > d/new.txt", "rm -r d; ln -s ../outside d",
			"d/new.txt: d is a link in this folder, and nothing is written through one"},
		{"an ignored link above", "mkdir z.log; echo new > z.log/n; git add -f z.log; git commit -qm log",
			"ln -s ../outside z.log", "z.log/n: z.log is a link in this folder, and nothing is written through one"},
		{"an ignored folder", "rm -r e; echo file > e", "echo mine > e/x.log",
			"e: a folder is in its place, with e/x.log"},
		{"an ignored file above", "mkdir y.log; echo new > y.log/n; git add -f y.log; git commit -qm log",
			"echo mine > y.log", "y.log/n: y.log is a file here"},
		{"what no agent may read", "echo PUBLIC=2 > secret.env; echo new > new.env", "echo SECRET > secret.env",
			"new.env: no agent may write it; secret.env: no agent may write it"},
		{"a new hidden file", "echo new > hidden.env", "echo SECRET > hidden.env", "hidden.env: no agent may write it"},
		{"a name but for case", "echo new > A.txt", "git config core.ignorecase true",
			"A.txt: its name is that of a.txt but for case, and this folder does not tell them apart"},
		{"a pipe", "echo new > pipe", "mkfifo pipe", "pipe: an ignored or unreadable file is in its place"},
		{"both the same", "echo new > n.txt; rm gone.txt", "echo new > n.txt; rm gone.txt", ""},
		{"a link on one side", "echo new > l", "ln -s a.txt l", "l: a link on one side, a file on the other"},
		{"other links", "ln -s a.txt l", "ln -s sub l", "l: both sides changed where the link leads"},
	} {
		b := b.again(t)
		ws := b.made("odd")
		b.shell(ws.Top, c.agent)
		b.shell(b.dir, c.caller)
		was := b.shell(b.dir, "find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 cat")
		if got := b.blocked(ws, hidden); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %s", c.name, got)
		}
		if now := b.shell(b.dir, "find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 cat"); now != was {
			t.Errorf("%s: the folder changed", c.name)
		}
	}
	if get(filepath.Join(outside, "x.txt")) != "outside\n" || there(filepath.Join(outside, "new.txt")) {
		t.Error("something was written outside")
	}
}

// TestMergeSubmodule: another repository below is named, and stays as it is.
func TestMergeSubmodule(t *testing.T) {
	b := newBench(t)
	id := b.git(b.dir, "rev-parse", "HEAD")
	b.git(b.dir, "update-index", "--add", "--cacheinfo", "160000,"+id+",module")
	b.git(b.dir, "commit", "-qm", "module")
	b.shell(b.dir, "mkdir module")
	ws := b.made("module")
	put(t, filepath.Join(ws.Top, "a.txt"), "1\n")
	b.shell(ws.Top, "rm -r module")
	m := b.merge(ws, Into{})
	if len(m.Changes) != 1 || len(m.Conflicts) > 0 || strings.Join(m.Left,
		"") != "module: it is a repository of its own" {
		t.Errorf("%+v", m)
	}
	put(t, filepath.Join(ws.Top, "module/file"), "1\n")
	if got := b.blocked(ws, Into{}); got != "module: one side has another repository there" {
		t.Errorf("blocked: %s", got)
	}
}

// TestMergeEndsOfLines: what is written has the ends of lines that a checkout there would have.
func TestMergeEndsOfLines(t *testing.T) {
	b := newBench(t)
	b.git(b.dir, "config", "core.autocrlf", "true")
	b.write(".gitattributes", "*.sh text eol=lf\n")
	b.write("w.txt", "one\r\ntwo\r\nthree\r\n")
	b.git(b.dir, "add", "-A")
	b.git(b.dir, "commit", "-qm", "windows")
	ws := b.made("crlf")
	if got := get(filepath.Join(ws.Top, "w.txt")); got != "one\r\ntwo\r\nthree\r\n" {
		t.Fatalf("checked out: %q", got)
	}
	put(t, filepath.Join(ws.Top, "w.txt"), "1\r\ntwo\r\nthree\r\n")
	put(t, filepath.Join(ws.Top, "n.txt"), "new\n")
	put(t, filepath.Join(ws.Top, "n.sh"), "new\n")
	b.write("w.txt", "one\r\ntwo\r\n3\r\n")
	b.brought(ws)
	for name, want := range map[string]string{"w.txt": "1\r\ntwo\r\n3\r\n", "n.txt": "new\r\n", "n.sh": "new\n"} {
		if got := get(filepath.Join(b.dir, name)); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	b.write("w.txt", "eins\r\ntwo\r\n3\r\n")
	put(t, filepath.Join(ws.Top, "w.txt"), "uno\r\ntwo\r\nthree\r\n")
	b.handBack(ws)
	if got := get(filepath.Join(ws.Top, "w.txt")); !strings.Contains(got, "<<<<<<< caller\r\neins\r\n") ||
		strings.Contains(strings.ReplaceAll(got, "\r\n", ""), "\n") {
		t.Errorf("handed back: %q", got)
	}
}

// TestMergeMarkersInFiles: lines that look like markers are text.
func TestMergeMarkersInFiles(t *testing.T) {
	b := newBench(t)
	long := strings.Repeat("<", markerLeast) + " not one\n" + strings.Repeat("=", markerLeast+5) + "\n"
	b.write("m.md", "1\n"+long+"2\n")
	b.write(".gitattributes", "*.md conflict-marker-size=3\n")
	ws := b.made("markers")
	put(t, filepath.Join(ws.Top, "m.md"), "1\n"+long+"theirs\n")
	b.write("m.md", "1\n"+long+"ours\n=======\n")
	m := b.merge(ws, Into{})
	if len(m.Conflicts) != 1 || len(m.Conflicts[0].Hunks) != 1 ||
		m.Conflicts[0].Hunks[0] != (Hunk{Lines{4, "ours\n=======\n"}, Lines{4, "2\n"}, Lines{4, "theirs\n"}}) {
		t.Errorf("%+v", m.Conflicts)
	}
	b.handBack(ws)
	if m = b.merge(ws, Into{}); len(m.Conflicts) != 1 {
		t.Errorf("%+v", m)
	}
}

// TestOldGit: one that cannot merge is named.
func TestOldGit(t *testing.T) {
	b := newBench(t)
	ws := b.made("old")
	put(t, filepath.Join(ws.Top, "a.txt"), "1\n")
	bin := filepath.Join(b.home, "bin")
	put(t, filepath.Join(bin, "git"), "#!/bin/sh\ncase \"$*\" in *version) echo git version 2.37.9;; "+
		"*) exec /usr/bin/env -S PATH="+os.Getenv("PATH")+" git \"$@\";; esac\n")
	if err := os.Chmod(filepath.Join(bin, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	// It is named before the work begins.
	if base := b.open(b.plan("new")); len(base.Left) != 1 || !strings.Contains(base.Left[0], "2.38") {
		t.Errorf("made: %+v", base)
	}
	_, err := b.k.Merge(t.Context(), ws, Into{})
	if user, ok := errors.AsType[*troupe.UserError](err); !ok || !strings.Contains(user.Problem, "2.38") {
		t.Errorf("%v", err)
	}
	if res := b.close(ws); !strings.Contains(res.Unmerged, "2.38") || res.Branch == "" {
		t.Errorf("closed: %+v", res)
	}
}

// again is a bench with the same repository.
func (b *bench) again(t *testing.T) *bench {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	next := &bench{t: t, home: home, dir: filepath.Join(home, "project")}
	next.k = next.keeper()
	next.shell(home, "cp -a "+b.dir+" project && mkdir outside && echo outside > outside/x.txt")
	return next
}

// shell runs a script as a person or an agent would.
func (b *bench) shell(dir, script string) string {
	b.t.Helper()
	cmd := execShell(script)
	cmd.Dir = dir
	cmd.Env = append(b.environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// TestMergeFoldedControl: where a repository says that case makes no difference, an agent's .Claude is no way around
// the caller's .claude, tracked or new; its .GIT is never brought over.
func TestMergeFoldedControl(t *testing.T) {
	b := newBench(t)
	b.git(b.dir, "config", "core.ignorecase", "true")
	b.write(".claude/settings.json", "{}\n")
	b.git(b.dir, "add", "-A")
	b.git(b.dir, "commit", "-qm", "settings")
	b.write(".claude/new.json", "mine\n") // not tracked
	ws := b.made("folded")
	for _, name := range []string{".Claude/settings.json", ".CLAUDE/new.json", "a/.GIT/config"} {
		put(t, filepath.Join(ws.Top, name), "theirs\n")
	}
	m := b.merge(ws, Into{})
	blocked := map[string]bool{}
	for _, c := range m.Conflicts {
		blocked[strings.TrimPrefix(c.Path, b.dir+"/")] = true
	}
	if !blocked[".Claude/settings.json"] || !blocked[".CLAUDE/new.json"] {
		t.Errorf("in conflict: %v", blocked)
	}
	for _, c := range m.Changes {
		if strings.EqualFold(filepath.Base(filepath.Dir(c.Path)), ".git") {
			t.Errorf("it writes %s", c.Path)
		}
	}
	if res := b.close(ws); res.Gone || get(filepath.Join(ws.Top, "a/.GIT/config")) != "theirs\n" {
		t.Errorf("what git cannot keep is lost: %+v", res)
	}
}
