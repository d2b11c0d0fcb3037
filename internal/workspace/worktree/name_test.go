package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestNames: names that lead elsewhere, that git takes for options, or that no branch can have are refused, and named
// in the refusal (S01).
func TestNames(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"../../../../tmp/x", "/abs", "a/../../b", "..", ".", "-b", "--upload-pack=x",
		"a\x00b",
		strings.Repeat("n", 65), "x.lock", "x.LOCK/y", "a/x.lock", "ünïcode", "\u202etxt.exe", "a b", "a.", "a/", "/",
		"a//b",
		"a/.b", "a/-b", ".git", "a..b", "a~b", "a^b", "a:b", "a?b", "a*b", "a[b", "a\\b", "a@{b", "a\n", "$(x)",
		"a/./b"} {
		_, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Name: name, Exact: true,
			From: b.dir})
		user, ok := errors.AsType[*troupe.UserError](err)
		if !ok || user.Hint == "" {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"a", "A.b_c-d", "a/b/c", "refs/heads/x", "HEAD", "0", strings.Repeat("n", 64)} {
		ws, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Name: name, Exact: true,
			From: filepath.Join(b.dir, "sub")})
		if err != nil || ws.Branch != "troupe/"+name || !strings.HasSuffix(ws.Top, "/"+name) ||
			ws.Folder != filepath.Join(ws.Top, "sub") || ws.Of != b.dir || ws.Caller(ws.Folder) != ws.From {
			t.Errorf("%q: %+v, %v", name, ws, err)
		}
		b.git(b.dir, "check-ref-format", "--branch", ws.Branch)
	}
	for _, owner := range []troupe.SessionID{"", "../../x", "ABC"} {
		if _, err := b.k.Plan(t.Context(), Wish{Owner: owner, Kind: troupe.WorkspaceTree, From: b.dir}); err == nil {
			t.Errorf("owner %q", owner)
		}
	}
	if there(b.k.data) || there(b.k.folders) {
		t.Error("something was made")
	}
}

func TestNamesOfTitles(t *testing.T) {
	b := newBench(t)
	for title, want := range map[string]string{"Fix the login!": "fix-the-login-", "": "work-", "日本": "work-",
		"--force ..": "force-", strings.Repeat("long title ", 20): "long-title-long-title-long-title-"} {
		ws, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Title: title, From: b.dir})
		if err != nil || !strings.HasPrefix(ws.Name, want) || strings.HasSuffix(ws.Name, string(ws.Owner)) ||
			len(ws.Name) != len(want)+6 {
			t.Errorf("%q: %q, %v", title, ws.Name, err)
		}
	}
	ws, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Name: "given", From: b.dir})
	if err != nil || ws.Name != "given-"+string(ws.Owner)[:6] {
		t.Errorf("%+v, %v", ws, err)
	}
}

// TestTaken: what is at the place of a workspace already is never taken for it, and no link is followed on the way to
// it (S02, S03, S67).
func TestTaken(t *testing.T) {
	b := newBench(t)
	plan := func(name string) error {
		_, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Name: name, Exact: true,
			From: b.dir})
		return err
	}
	ws := b.plan("mine")
	early := b.plan("mine") // both were planned before the one was made
	b.open(ws)
	if err := plan("mine"); err == nil {
		t.Error("the name of another was taken")
	}
	if _, err := b.k.Open(t.Context(), early, Making{}); err == nil {
		t.Error("the folder of another was taken")
	}
	if err := plan("mine/below"); err == nil {
		t.Error("a name in another's folder was taken")
	}
	inner := b.plan("group/one")
	b.open(inner)
	if err := plan("group"); err == nil {
		t.Error("a name that has another's folder in it was taken")
	}
	project := filepath.Dir(ws.Top)
	put(t, filepath.Join(project, "foreign/precious.txt"), "precious\n")
	if err := plan("foreign"); err == nil {
		t.Error("a foreign folder was taken")
	}
	foreign := b.plan("later")
	put(t, filepath.Join(project, "later/precious.txt"), "precious\n")
	if _, err := b.k.Open(t.Context(), foreign, Making{}); err == nil ||
		get(filepath.Join(project, "later/precious.txt")) != "precious\n" {
		t.Errorf("a foreign folder was taken: %v", err)
	}
	victim := filepath.Join(b.home, "victim")
	if err := errors.Join(os.Mkdir(victim, 0o700), os.Symlink(victim, filepath.Join(project, "link"))); err != nil {
		t.Fatal(err)
	}
	if err := plan("link/x"); err == nil {
		t.Error("a link on the way was followed")
	}
	if err := plan("link"); err == nil {
		t.Error("a link in its place was taken")
	}
	for _, dir := range []string{b.k.folders, project, ws.Top, b.k.data, filepath.Join(b.k.data, string(ws.Owner))} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	// A folder of the project that is a link.
	b = newBench(t)
	victim = filepath.Join(b.home, "victim")
	if err := errors.Join(os.Mkdir(victim, 0o700), os.Mkdir(b.k.folders, 0o700),
		os.Symlink(victim, filepath.Join(b.k.folders, b.k.project(b.dir)))); err != nil {
		t.Fatal(err)
	}
	if err := plan("x"); err == nil {
		t.Error("a link in the place of the project's folder was followed")
	}
	if left, err := os.ReadDir(victim); err != nil || len(left) > 0 {
		t.Errorf("in the victim: %v, %v", left, err)
	}
	if _, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, From: b.home}); err == nil ||
		!strings.Contains(err.Error(), "copy") {
		t.Errorf("no repository: %v", err)
	}
}

// TestOneName: of processes that want one name at once, one has it, and the others are told which session that is.
func TestOneName(t *testing.T) {
	b := newRaced(t)
	works := make([]troupe.Workspace, 4)
	errs := make([]error, len(works))
	for i := range works {
		works[i] = b.plan("same") // each before any is made
	}
	var all sync.WaitGroup
	for i, ws := range works {
		all.Go(func() { _, errs[i] = b.keeper().Open(t.Context(), ws, Making{}) })
	}
	all.Wait()
	won := slices.Index(errs, nil)
	if won < 0 {
		t.Fatalf("none has it: %v", errs)
	}
	for i, err := range errs {
		if i != won && (err == nil || !strings.Contains(err.Error(), string(works[won].Owner))) {
			t.Errorf("%d: %v", i, err)
		}
	}
}
