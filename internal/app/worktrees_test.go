package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// TestNoSuchWorktree: where no worktree has a name there is an error, and no worktree.
func TestNoSuchWorktree(t *testing.T) {
	a, now := playHouse(t, t.TempDir())
	p := newPlay(t, a, now, t.TempDir())
	p.begin("r00t00000000", "go")
	list, err := you(a).Setup().Workspaces().Worktrees(t.Context(), wire.WorktreeQuery{Cwd: p.dir, Name: "none"})
	if !errors.Is(err, troupe.ErrNotFound) || len(list) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestMatchRows: a word means the same worktree to a person and to an agent: one of that name, of an agent of that
// name, one that begins so, or one of a session whose id begins so, in that order.
func TestMatchRows(t *testing.T) {
	row := func(name string, owner, main troupe.SessionID) worktree.Row {
		return worktree.Row{Workspace: troupe.Workspace{Name: name, Owner: owner, Main: main}}
	}
	rows := []worktree.Row{row("fix", "a00000000000", ""), row("fix-login", "b00000000000", ""),
		row("other", "c00000000000", "r00t00000000"), row("login", "d00000000000", "")}
	names := func(r worktree.Row) ([]string, error) {
		return map[string][]string{"fix": {"Other", "main/Other"}, "other": {"Lead"}, "login": {"twin"},
			"fix-login": {"twin"}}[r.Workspace.Name], nil
	}
	for word, want := range map[string]string{"fix": "fix", "fix-": "fix-login", "other": "other", "lead": "other",
		"main/other": "fix", "r00t": "other", "c0": "other", "d00000000000": "login", "log": "login"} {
		if got, err := matchRows(rows, names, word); err != nil || got.Workspace.Name != want {
			t.Errorf("%s: %q, %v", word, got.Workspace.Name, err)
		}
	}
	for word, want := range map[string]error{"fi": troupe.ErrAmbiguous, "twin": troupe.ErrAmbiguous,
		"x": troupe.ErrNotFound} {
		if _, err := matchRows(rows, names, word); !errors.Is(err, want) {
			t.Errorf("%s: %v", word, err)
		}
	}
}

// inTree is a tree of one play, with an agent that has come to its end and works in a worktree of its own.
func inTree(t *testing.T, p *play, name string, files ...string) troupe.Workspace {
	t.Helper()
	p.turn(p.root)
	w := inTreeAs(t, p, 0, name)
	for _, file := range files {
		writeFile(t, filepath.Join(w.Top, file), "the agent's\n")
	}
	return w
}

// inTreeAs is inTree of the agent of a call.
func inTreeAs(t *testing.T, p *play, call int, name string) troupe.Workspace {
	t.Helper()
	at := troupe.Coord{Reply: 1, Call: call}
	id := troupe.ChildID(p.root, at)
	w, err := p.a.keeper.Plan(t.Context(), worktree.Wish{Owner: id, Kind: troupe.WorkspaceTree, Name: name,
		Exact: true, From: p.dir})
	if err == nil {
		_, err = p.a.keeper.Open(t.Context(), w, worktree.Making{})
	}
	if err != nil {
		t.Fatal(err)
	}
	p.insert(troupe.Session{ID: id, Root: p.root, Parent: p.root, Name: name, Depth: 1, Cwd: p.dir, Workspace: w,
		Status: troupe.Completed, Run: 1, Coord: at, EndedAt: p.a.env.Now()}, nil)
	return w
}

// repositoryPlay is a play whose folder is a repository.
func repositoryPlay(t *testing.T) *play {
	t.Helper()
	p := onePlay(t)
	p.put("a.txt", "a\n")
	if out, err := exec.Command("git", "-C", p.dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return p
}

func (p *play) look() looking {
	return lookingBy(worktrees{bound{p.a, troupe.You(troupe.SurfaceCommand)}})
}

// TestKeptAgain: what could not be kept at an agent's end is kept by whoever lists the worktrees, unless a process has
// the tree, and then the list says nothing more of why it could not be.
func TestKeptAgain(t *testing.T) {
	t.Parallel()
	p := repositoryPlay(t)
	w := inTree(t, p, "unkept", "new.txt")
	p.log(w.Owner, troupe.Ended{Outcome: troupe.Outcome{Status: troupe.Completed,
		Workspace: &troupe.WorkspaceResult{Unkept: "the disk is full"}}})
	for _, running := range []bool{true, false} {
		look := p.look()
		if running {
			look.trees[p.root] = Tree{Running: true}
		}
		rows, err := look.list(t.Context(), "")
		if err != nil || len(rows) != 1 {
			t.Fatalf("%v, %v", rows, err)
		}
		kept := look.known(t.Context(), rows[0]).Kept
		if rows[0].Ended == running || strings.Contains(kept, "the disk is full") != running {
			t.Errorf("while it runs: %v: ended %v: %q", running, rows[0].Ended, kept)
		}
	}
}

// TestSettledByALook: what an older version has noted of an agent that had changed nothing, and was woken in vain, as
// not kept is put aside by whoever lists the worktrees.
func TestSettledByALook(t *testing.T) {
	t.Parallel()
	p := repositoryPlay(t)
	w := inTree(t, p, "idle")
	if res, err := p.a.keeper.Close(t.Context(), w, worktree.Ending{}); err != nil || !res.Gone {
		t.Fatalf("%+v, %v", res, err)
	}
	at, aside := filepath.Join(p.a.dirs.Workspaces(), string(w.Owner)), filepath.Join(p.a.dirs.Workspaces(), "spent",
		string(w.Owner))
	if err := os.Rename(aside, at); err != nil {
		t.Fatal(err)
	}
	p.log(w.Owner, troupe.Ended{Outcome: troupe.Outcome{Status: troupe.Completed,
		Workspace: &troupe.WorkspaceResult{Unkept: "it is not there"}}})
	rows, err := p.look().list(t.Context(), "")
	if err != nil || len(rows) != 0 {
		t.Errorf("%+v, %v", rows, err)
	}
	if _, err := os.Stat(aside); err != nil {
		t.Errorf("what its agent goes on from is gone: %v", err)
	}
}

// TestTidyByALook: what a killed merge has left is gone once somebody looks at the worktrees.
func TestTidyByALook(t *testing.T) {
	t.Parallel()
	p := repositoryPlay(t)
	w := inTree(t, p, "one", "a.txt")
	left := filepath.Join(p.a.dirs.Workspaces(), string(w.Owner), "merge.git")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := p.look().Worktrees(t.Context(), wire.WorktreeQuery{Cwd: p.dir, Names: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there still: %v", err)
	}
}

// TestMergedAnew: a merge of which nothing was written, for a file was changed meanwhile, is worked out anew, and not
// for ever.
func TestMergedAnew(t *testing.T) {
	t.Parallel()
	for moves, want := range map[int]string{0: "", 3: "", 9: "a.txt: it was changed meanwhile; run it again"} {
		tries := 0
		out, err := untilStill(func() (wire.MergedWorktree, error) {
			if tries++; tries <= moves {
				return wire.MergedWorktree{}, fmt.Errorf("a.txt: %w", worktree.ErrMoved)
			}
			return wire.MergedWorktree{}, nil
		})
		if err != nil || out.Stopped != want || tries > 4 {
			t.Errorf("changed %d times: %q after %d, %v", moves, out.Stopped, tries, err)
		}
	}
}

// TestMergesAtOnce: people's merges of the same files at the same moment wait for the one that is written, are made one
// after the other, and none stops half way.
func TestMergesAtOnce(t *testing.T) {
	t.Parallel()
	p := repositoryPlay(t)
	const agents, files = 4, 60
	lines := make([]string, 6*agents)
	for i := range lines {
		lines[i] = fmt.Sprint("line ", i)
	}
	for i := range files {
		p.put(fmt.Sprintf("f%d.txt", i), strings.Join(lines, "\n"))
	}
	for _, args := range [][]string{{"add", "-A"}, {"-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm",
		"x"}} {
		if out, err := exec.Command("git", append([]string{"-C", p.dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	var all []troupe.Workspace
	for n := range agents {
		w := inTreeAs(t, p, n, fmt.Sprint("agent", n))
		mine := slices.Clone(lines)
		mine[6*n] = fmt.Sprint("of agent ", n)
		for i := range files {
			writeFile(t, filepath.Join(w.Top, fmt.Sprintf("f%d.txt", i)), strings.Join(mine, "\n"))
		}
		all = append(all, w)
	}
	_, release, err := worktree.Writing(t.Context(), p.a.keeper, p.dir)
	if err != nil {
		t.Fatal(err)
	}
	var waiting, done sync.WaitGroup
	var released atomic.Bool
	waiting.Add(agents)
	for _, w := range all {
		done.Go(func() {
			waits := sync.OnceFunc(waiting.Done)
			defer waits()
			out, err := p.look().MergeWorktree(api.WithWaits(t.Context(), func(string) { waits() }),
				wire.WorktreeMerge{WorktreeQuery: wire.WorktreeQuery{Cwd: p.dir, Name: w.Name}})
			if !released.Load() {
				t.Errorf("%s waited for nobody", w.Name)
			}
			if err != nil || out.Stopped != "" || len(out.Files) != files {
				t.Errorf("%s: %d files, stopped %q, %v: %.600s", w.Name, len(out.Files), out.Stopped, err,
					fmt.Sprintf("%+v %v", out.Conflicts, out.Left))
			}
		})
	}
	waiting.Wait()
	released.Store(true)
	release()
	done.Wait()
	for i := range files {
		got, err := os.ReadFile(p.path(fmt.Sprintf("f%d.txt", i)))
		if n := strings.Count(string(got), "of agent "); err != nil || n != agents {
			t.Errorf("file %d has the work of %d agents, %v", i, n, err)
		}
	}
}

// TestMergesWait: every kind of merge waits while another is written into its folder, a dry run and a person's stop of
// it aside.
func TestMergesWait(t *testing.T) {
	t.Parallel()
	p := repositoryPlay(t)
	w := inTree(t, p, "waits", "a.txt")
	g := p.a.newGuard(t.Context())
	defer g.close() //nolint:errcheck // it holds nothing
	into := session.Into{Session: troupe.Session{Cwd: p.dir, Root: p.root}}
	auto, err := (&workspaces{keeper: p.a.keeper, app: p.a, guard: g}).Merge(t.Context(), troupe.Session{Root: p.root,
		Workspace: w}, into)
	if err != nil {
		t.Fatal(err)
	}
	call, err := merger{p.a, g}.Merge(tool.Env{Session: p.root, Cwd: p.dir}, "waits", "")
	if err != nil {
		t.Fatal(err)
	}
	person := func(ctx context.Context, dry bool) error {
		_, err := p.look().MergeWorktree(ctx, wire.WorktreeMerge{DryRun: dry,
			WorktreeQuery: wire.WorktreeQuery{Cwd: p.dir, Name: "waits"}})
		return err
	}
	_, release, err := worktree.Writing(t.Context(), p.a.keeper, p.dir)
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	for name, merge := range map[string]func(context.Context) error{
		"merge: auto":   auto.Write,
		"MergeWorktree": func(ctx context.Context) error { _, err := call.Apply(ctx, nil); return err },
		"troupe merge":  func(ctx context.Context) error { return person(ctx, false) },
	} {
		done.Go(func() { // one that waits is told so, and given up: nothing else ends it
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			waits := func(string) { cancel() }
			ctx = worktree.Looking(api.WithWaits(ctx, waits), 0, waits)
			if err := merge(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	done.Wait()
	if got, err := os.ReadFile(p.path("a.txt")); string(got) != "a\n" {
		t.Errorf("%q, %v", got, err)
	}
	if err := person(t.Context(), true); err != nil {
		t.Error(err)
	}
	release()
	if err := person(t.Context(), false); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(p.path("a.txt")); string(got) != "the agent's\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestMergeStopped: a merge that is stopped part-way says what it has written and how that is undone, and remembers
// nothing of the rest.
func TestMergeStopped(t *testing.T) {
	t.Parallel()
	p := repositoryPlay(t)
	w := inTree(t, p, "stopped", "a.txt", "b.txt")
	look := p.look()
	merged, _, err := look.merge(t.Context(), w, "", false)
	if err != nil || len(merged.Changes) != 2 {
		t.Fatalf("%+v, %v", merged, err)
	}
	out := wire.MergedWorktree{}
	p.put("a.txt", "mine\n")
	err = look.bring(t.Context(), w, merged, merged.Changes, false, &out)
	if !errors.Is(err, worktree.ErrMoved) || len(out.Files) > 0 || out.Undo != "" ||
		strings.Count(err.Error(), "changed") != 1 || strings.Count(err.Error(), "a.txt") != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	p.put("a.txt", "a\n")
	p.put("b.txt/mine", "meanwhile\n")
	merged.own = []string{p.path("b.txt")}
	if err := look.bring(t.Context(), w, merged, merged.Changes, true, &out); err != nil {
		t.Fatal(err)
	}
	if want := []wire.MergedFile{{Path: p.path("a.txt"), Action: wire.MergeChanged}}; !slices.Equal(out.Files, want) ||
		!strings.Contains(out.Stopped, "b.txt") || !strings.Contains(out.Undo, "--merge 1") {
		t.Errorf("%+v", out)
	}
	if merges, err := mergeJournal(p.a, p.root).read(); err != nil || len(merges) != 1 || len(merges[0].Files) != 1 ||
		merges[0].Files[0].Path != p.path("a.txt") {
		t.Errorf("an undo would be of %+v, %v", merges, err)
	}
	for name, want := range map[string]string{"a.txt": "the agent's\n", "b.txt/mine": "meanwhile\n"} {
		if got, err := os.ReadFile(p.path(name)); string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if merged, _, err = look.merge(t.Context(), w, "", false); err != nil || len(merged.Declined) > 0 {
		t.Errorf("it was decided about: %+v, %v", merged, err)
	}
	record, err := os.ReadFile(filepath.Join(p.a.dirs.Workspaces(), string(w.Owner), "record.json"))
	if err != nil || !strings.Contains(string(record), p.path("a.txt")) ||
		strings.Contains(string(record), p.path("b.txt")) {
		t.Errorf("whose work it was: %s, %v", record, err)
	}
}

// TestHandBackToOwn: conflicts are handed back to agents of one's own tree.
func TestHandBackToOwn(t *testing.T) {
	t.Parallel()
	p := repositoryPlay(t)
	inTree(t, p, "theirs", "a.txt")
	p.put("a.txt", "mine\n")
	own := p.root
	p.begin("r00t00000001", "go")
	g := p.a.newGuard(t.Context())
	defer g.close() //nolint:errcheck // it holds nothing
	_, err := merger{p.a, g}.HandBack(t.Context(), tool.Env{Session: own, Cwd: p.dir}, "theirs", nil)
	if err == nil || !strings.Contains(err.Error(), "a.txt conflicts too by now") {
		t.Errorf("what was not judged: %v", err)
	}
	for root, want := range map[troupe.SessionID]string{p.root: "no worktree of an agent of yours", own: ""} {
		_, err := merger{p.a, g}.HandBack(t.Context(), tool.Env{Session: root, Cwd: p.dir}, "theirs",
			[]string{p.path("a.txt")})
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", root, err)
		}
	}
}

// TestRulesOfOwnTree: what git may not read for an agent with a folder of its own is what rules name there, and what
// settings name in the tree that the folder is made from, which may be another agent's.
func TestRulesOfOwnTree(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "slow.yaml"), "replies: [{delay: 1h, text: late}]")
	writeFile(t, filepath.Join(dir, ".troupe/settings.json"), `{"sandbox": {"deny_read": ["keys/**"]}}`)
	a := openHome(t, t.TempDir())
	defer a.Close()
	run, err := you(a).Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: dir, Model: "script:slow.yaml",
		Permissions: wire.Permissions{Deny: []string{"Read(secret/**)"}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.trees.session(t.Context(), run.Root)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "own")
	s.Workspace = troupe.Workspace{Kind: troupe.WorkspaceTree, Owner: s.ID, From: dir, Of: dir, Top: own, Folder: own}
	g, ask := a.engine.Load().rights(s)
	if g == nil || ask.Hides.Test == nil || !ask.Hides.Test(filepath.Join(own, "secret/key")) {
		t.Errorf("what a rule names is not hidden in the agent's own folder: %+v", ask)
	}
	writeFile(t, filepath.Join(own, "keys/id"), "a key\n")
	hidden, err := g.hiddenFrom(t.Context(), dir, own, ask)
	if err != nil || !slices.ContainsFunc(hidden, func(path string) bool {
		return troupe.Within(filepath.Join(own, "keys/id"), path)
	}) {
		t.Errorf("hidden: %v, %v", hidden, err)
	}
}

// TestNumberOfAgent: an agent's number, as a conversation shows it, means its worktree; a name that means none is
// answered with those there are.
func TestNumberOfAgent(t *testing.T) {
	t.Parallel()
	p := repositoryPlay(t)
	w := inTree(t, p, "numbered")
	query := func(name string) wire.WorktreeQuery { return wire.WorktreeQuery{Cwd: p.dir, Name: name} }
	row, err := p.look().one(t.Context(), query("#1"))
	if err != nil || row.Workspace.Owner != w.Owner {
		t.Errorf("%+v, %v", row, err)
	}
	for _, name := range []string{"#0", "#2", "other"} {
		_, err := p.look().one(t.Context(), query(name))
		said, ok := errors.AsType[*troupe.UserError](err)
		if !ok || !strings.Contains(said.Problem, name) || !strings.Contains(said.Hint, "numbered") {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.begin("r00t00000001", "go")
	inTree(t, p, "another")
	if _, err := p.look().one(t.Context(), query("#1")); !errors.Is(err, troupe.ErrAmbiguous) {
		t.Errorf("a number of two trees: %v", err)
	}
}

// TestMergeByAClockSetBack: a merge is behind what the session did before it, whatever the clock says.
func TestMergeByAClockSetBack(t *testing.T) {
	t.Parallel()
	p := repositoryPlay(t)
	first := inTree(t, p, "first", "a.txt")
	second := inTreeAs(t, p, 1, "second")
	writeFile(t, filepath.Join(second.Top, "b.txt"), "the agent's\n")
	for _, w := range []troupe.Workspace{first, second} {
		if _, err := p.look().MergeWorktree(t.Context(), wire.WorktreeMerge{
			WorktreeQuery: wire.WorktreeQuery{Cwd: p.dir, Name: w.Name}}); err != nil {
			t.Fatal(err)
		}
		*p.now = p.now.Add(-time.Hour)
	}
	merges, err := mergeJournal(p.a, p.root).read()
	if err != nil || len(merges) != 2 || !merges[1].At.After(merges[0].At) {
		t.Errorf("%+v, %v", merges, err)
	}
}

// TestFailedWriteDeclinesNothing: where a merge that takes the folder's side of a file cannot write the others, that
// side is not declined, whoever merges.
func TestFailedWriteDeclinesNothing(t *testing.T) {
	t.Parallel()
	p := repositoryPlay(t)
	w := inTree(t, p, "fails", "a.txt", "b.txt", "c.txt")
	p.put("a.txt", "mine\n")
	g := p.a.newGuard(t.Context())
	defer g.close() //nolint:errcheck // it holds nothing
	declined := func() []string {
		t.Helper()
		m, err := p.a.keeper.Merge(t.Context(), w, worktree.Into{})
		if err != nil {
			t.Fatal(err)
		}
		return m.Declined
	}
	call, err := merger{p.a, g}.Merge(tool.Env{Session: p.root, Cwd: p.dir}, "fails", wire.TakeMine)
	look := p.look()
	merged, _, lerr := look.merge(t.Context(), w, wire.TakeMine, false)
	if err = errors.Join(err, lerr); err != nil || len(merged.Changes) != 2 || len(merged.Own) != 1 {
		t.Fatalf("%+v, %v", merged, err)
	}
	p.put("c.txt/mine", "meanwhile\n") // in the way of the second file
	var out wire.MergedWorktree
	if err := look.bring(t.Context(), w, merged, merged.Changes, true, &out); err != nil || out.Stopped == "" {
		t.Errorf("%+v, %v", out, err)
	}
	if got := declined(); len(got) > 0 {
		t.Errorf("a person's has declined %v", got)
	}
	if _, err := call.Apply(t.Context(), func([]byte) (string, error) { return "", nil }); err == nil {
		t.Error("the agent's is written")
	}
	if got := declined(); len(got) > 0 {
		t.Errorf("an agent's has declined %v", got)
	}
}
