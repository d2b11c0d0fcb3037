package hidden

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secrets are .env and .env.*, but examples; keys are *.key and folders called private.
func secrets() Pattern {
	name := func(n string) bool { return n == ".env" || strings.HasPrefix(n, ".env.") }
	return Pattern{Key: "secrets", Name: name, Path: func(p string) bool {
		for rest := p; rest != "/"; rest = filepath.Dir(rest) {
			if name(filepath.Base(rest)) && !strings.HasSuffix(p, ".example") {
				return true
			}
		}
		return false
	}}
}

func keys() Pattern {
	return Pattern{Key: "keys", Path: func(p string) bool {
		return strings.HasSuffix(p, ".key") || filepath.Base(p) == "private"
	}}
}

// walked is the reference: what is there, by the standard library's walk.
func walked(t *testing.T, root string, patterns ...Pattern) []string {
	t.Helper()
	var out []string
	for _, p := range patterns {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if p.Path(path) {
				out = append(out, path)
				if target, err := filepath.EvalSymlinks(path); err == nil {
					out = append(out, target)
				}
				if d.IsDir() {
					return fs.SkipDir
				}
			}
			if d.IsDir() && strings.HasSuffix(path, "/.git/objects") {
				return fs.SkipDir
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func finder(t testing.TB, root string) *Finder {
	t.Helper()
	f := New(root)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func now(t testing.TB, f *Finder, patterns ...Pattern) []string {
	t.Helper()
	got, err := f.Now(t.Context(), patterns...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// resolvedTemp is a folder without links on the way to it.
func resolvedTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, path string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("x"), 0o600))
}

// TestNow: what is deep, below node_modules and in .git is found, and nothing below .git/objects is looked for.
func TestNow(t *testing.T) {
	t.Parallel()
	root := resolvedTemp(t)
	for _, name := range []string{"a/b/c/d/.env", "node_modules/x/.env.local", ".git/.env", ".git/objects/ab/.env",
		".env.example", "x.key", "private/deep/er", ".env.d/in", "objects/.env"} {
		put(t, filepath.Join(root, name))
	}
	outside := filepath.Join(resolvedTemp(t), "outside")
	put(t, outside)
	must(t, os.Symlink(outside, filepath.Join(root, "a/.env")))
	f := finder(t, root)
	want := []string{outside}
	for _, name := range []string{"a/.env", "a/b/c/d/.env", "node_modules/x/.env.local", ".git/.env", ".env.d",
		"objects/.env"} {
		want = append(want, filepath.Join(root, name))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, now(t, f, secrets())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{root + "/private", root + "/x.key"}, now(t, f, keys())); diff != "" {
		t.Error(diff)
	}
	if f.State().Unwatched != "" {
		t.Error("not watched: " + f.State().Unwatched)
	}
	if got := f.State().Names; got < 15 {
		t.Errorf("%d names", got)
	}
}

// TestNowManyNames: no number of files is too many.
func TestNowManyNames(t *testing.T) {
	t.Parallel()
	root := resolvedTemp(t)
	put(t, root+"/one")
	for i := range 51 {
		must(t, os.Mkdir(fmt.Sprintf("%s/%02d", root, i), 0o755))
		for k := range 1000 { // names of one file are made sooner than files
			must(t, os.Link(root+"/one", fmt.Sprintf("%s/%02d/%d", root, i, k)))
		}
	}
	put(t, root+"/zz/.env")
	f := finder(t, root)
	if got := now(t, f, secrets()); !slices.Equal(got, []string{root + "/zz/.env"}) {
		t.Errorf("found %q", got)
	}
	if f.State().Names < 51_000 {
		t.Errorf("looked at %d names", f.State().Names)
	}
}

// player changes a folder at random.
type player struct {
	t    *testing.T
	r    *rand.Rand
	root string
	away string // a folder beside it
}

func (p *player) name() string {
	return []string{"a", "b", "c", ".git", "objects", "node_modules", ".env", ".env.local", ".env.example", "x.key",
		"private", "d.env"}[p.r.IntN(12)]
}

// folder is one that is there, mostly.
func (p *player) folder(below string) string {
	dir := below
	for p.r.IntN(4) != 0 {
		list, _ := os.ReadDir(dir)
		list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return !e.IsDir() })
		if len(list) == 0 {
			break
		}
		dir = filepath.Join(dir, list[p.r.IntN(len(list))].Name())
	}
	return dir
}

// step makes one change; it may fail, as when a file is where a folder should come to be.
func (p *player) step() string {
	at := filepath.Join(p.folder(p.root), p.name())
	other := filepath.Join(p.folder(p.root), p.name())
	switch what := p.r.IntN(14); what {
	case 0, 1:
		_ = os.WriteFile(at, []byte("x"), 0o600)
		return "write " + at
	case 2:
		temp := at + "~"
		_ = os.WriteFile(temp, []byte("y"), 0o600)
		_ = os.Rename(temp, at)
		return "save anew " + at
	case 3:
		deep := filepath.Join(at, p.name(), p.name(), p.name())
		_ = os.MkdirAll(deep, 0o755)
		_ = os.WriteFile(filepath.Join(deep, ".env"), nil, 0o600)
		return "make deep " + deep
	case 4, 5:
		_ = os.Rename(at, other)
		return "move " + at + " to " + other
	case 6:
		_ = os.Rename(at, filepath.Join(p.away, p.name()))
		return "move away " + at
	case 7:
		from := filepath.Join(p.away, p.name(), p.name())
		_ = os.MkdirAll(from, 0o755)
		_ = os.WriteFile(filepath.Join(from, p.name()), nil, 0o600)
		_ = os.WriteFile(filepath.Join(from, ".env.x"), nil, 0o600)
		_ = os.Rename(filepath.Dir(from), at)
		return "move in " + at
	case 8:
		_ = os.Link(other, at)
		return "link " + at
	case 9:
		_ = os.Symlink(other, at)
		return "symbolic link " + at + " to " + other
	case 10:
		_ = os.Remove(at)
		return "remove " + at
	case 11:
		_ = os.RemoveAll(at)
		return "remove all " + at
	case 12:
		p.checkout(filepath.Dir(at))
		return "change many below " + at
	default:
		_ = os.Mkdir(at, 0o755)
		temp := other + "~"
		_ = os.Rename(at, temp)
		_ = os.Mkdir(at, 0o755)
		_ = os.WriteFile(filepath.Join(at, p.name()), nil, 0o600)
		_ = os.Rename(temp, filepath.Join(at, "moved"))
		return "shuffle " + at
	}
}

// checkout removes and makes much at once.
func (p *player) checkout(dir string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if p.r.IntN(2) == 0 {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
	for range 20 {
		sub := filepath.Join(dir, p.name(), p.name())
		_ = os.MkdirAll(sub, 0o755)
		_ = os.WriteFile(filepath.Join(sub, p.name()), nil, 0o600)
	}
}

// TestRandomChanges: after each of 2,000 changes, and after several at once, what is known is what a fresh walk finds.
func TestRandomChanges(t *testing.T) {
	t.Parallel()
	steps := 500
	if testing.Short() {
		steps = 50
	}
	for _, seed := range []uint64{1, 2, 3, 4} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := &player{t: t, r: rand.New(rand.NewPCG(seed, 7)), root: resolvedTemp(t), away: t.TempDir()}
			f := finder(t, p.root)
			var did []string
			for range steps {
				did = append(did, p.step())
				for p.r.IntN(3) == 0 {
					did = append(did, p.step())
				}
				for _, set := range [][]Pattern{{secrets()}, {secrets(), keys()}} {
					if diff := cmp.Diff(walked(t, p.root, set...), now(t, f, set...)); diff != "" {
						t.Fatalf("after %s:\n%s", strings.Join(did[max(0, len(did)-6):], "\n"), diff)
					}
				}
			}
			if why := f.State().Unwatched; why != "" {
				t.Error("not watched: " + why)
			}
		})
	}
}

// TestChangesMeanwhile: what stands still is found whatever goes on beside it.
func TestChangesMeanwhile(t *testing.T) {
	t.Parallel()
	root := resolvedTemp(t)
	put(t, root+"/still/.env")
	f := finder(t, root)
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for i := range 2 {
		p := &player{t: t, r: rand.New(rand.NewPCG(uint64(i), 8)), root: filepath.Join(root, "busy"), away: t.TempDir()}
		must(t, os.MkdirAll(p.root, 0o755))
		others.Go(func() {
			for ctx.Err() == nil {
				p.step()
			}
		})
	}
	var askers sync.WaitGroup
	for i := range 4 {
		askers.Go(func() {
			for k := range 100 {
				mine := fmt.Sprintf("%s/still/%d/.env.%d", root, i, k)
				if err := errors.Join(os.MkdirAll(filepath.Dir(mine), 0o755),
					os.WriteFile(mine, nil, 0o600)); err != nil {
					t.Error(err)
				}
				got, err := f.Now(ctx, secrets())
				if err != nil {
					t.Error(err)
				}
				if !slices.Contains(got, root+"/still/.env") || !slices.Contains(got, mine) {
					t.Errorf("found %d, and not %s", len(got), mine)
				}
			}
		})
	}
	askers.Wait()
	cancel()
	others.Wait()
	if diff := cmp.Diff(walked(t, root, secrets()), now(t, f, secrets())); diff != "" {
		t.Error(diff)
	}
}

// TestStopped: who asked can be stopped, and the next one is told all.
func TestStopped(t *testing.T) {
	t.Parallel()
	root := resolvedTemp(t)
	put(t, root+"/.env")
	f := finder(t, root)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		if _, err := f.Now(ctx, secrets()); !errors.Is(err, context.Canceled) && err != nil {
			t.Error(err)
		}
	}
	if got := now(t, f, secrets()); len(got) != 1 {
		t.Errorf("found %q", got)
	}
}

// TestRootReplaced: the folder is what has its name now.
func TestRootReplaced(t *testing.T) {
	t.Parallel()
	root := resolvedTemp(t) + "/project"
	put(t, root+"/.env")
	f := finder(t, root)
	if got := now(t, f, secrets()); len(got) != 1 {
		t.Errorf("found %q", got)
	}
	must(t, os.Rename(root, root+".old"))
	if _, err := f.Now(t.Context(), secrets()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the folder: %v", err)
	}
	put(t, root+"/sub/.env")
	if got := now(t, f, secrets()); !slices.Equal(got, []string{root + "/sub/.env"}) {
		t.Errorf("found %q", got)
	}
	must(t, os.Rename(root, root+".older"))
	put(t, root+"/other/.env")
	if got := now(t, f, secrets()); !slices.Equal(got, []string{root + "/other/.env"}) {
		t.Errorf("found %q, once another folder has the name", got)
	}
}

// TestManyPatterns: the one that was not asked about for longest goes first.
func TestManyPatterns(t *testing.T) {
	t.Parallel()
	root := resolvedTemp(t)
	f := finder(t, root)
	put(t, root+"/.env")
	for i := range 3 * maxSets {
		put(t, fmt.Sprintf("%s/%d", root, i))
		p := Pattern{Key: fmt.Sprint(i), Path: func(p string) bool { return filepath.Base(p) == fmt.Sprint(i) }}
		if got := now(t, f, p, secrets()); len(got) != 2 {
			t.Errorf("found %q", got)
		}
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	f := New(resolvedTemp(t))
	must(t, f.Close())
	if _, err := f.Now(t.Context(), secrets()); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}
