package worktree

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
)

// evil is a command that leaves a mark.
func (b *bench) evil() (command string, ran func() bool) {
	b.t.Helper()
	mark := filepath.Join(b.home, "mark")
	command = filepath.Join(b.home, "evil")
	if err := os.WriteFile(command, []byte("#!/bin/sh\ntouch "+mark+"\ncat\n"), 0o755); err != nil {
		b.t.Fatal(err)
	}
	return command, func() bool { return there(mark) }
}

// arm makes a repository run the command wherever it can.
func (b *bench) arm(dir, command string) {
	b.t.Helper()
	config := "[core]\n\tfsmonitor = " + command + "\n\thooksPath = " + filepath.Join(dir, "hooks") +
		"\n\tsshCommand = " + command + "\n\tpager = " + command + "\n\teditor = " + command +
		"\n\talternateRefsCommand = " + command +
		"\n[filter \"x\"]\n\tclean = " + command + "\n\tsmudge = " + command + "\n\tprocess = " + command +
		"\n[diff]\n\texternal = " + command + "\n[diff \"x\"]\n\tcommand = " + command + "\n\ttextconv = " + command +
		"\n[merge \"x\"]\n\tdriver = " + command + "\n[gpg]\n\tprogram = " + command +
		"\n[commit]\n\tgpgSign = true\n[credential]\n\thelper = !" + command +
		"\n[uploadpack]\n\tpackObjectsHook = " + command + "\n[remote \"origin\"]\n\turl = ext::" + command + "\n"
	f, err := os.OpenFile(filepath.Join(dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(config)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		b.t.Fatal(err)
	}
	for _, hook := range []string{"post-checkout", "pre-commit", "post-index-change", "reference-transaction",
		"post-commit", "pre-receive", "update", "pre-auto-gc", "post-rewrite", "fsmonitor-watchman"} {
		put(b.t, filepath.Join(dir, "hooks", hook), get(command))
		if err := os.Chmod(filepath.Join(dir, "hooks", hook), 0o755); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestHostileRepository: nothing that a caller's repository says is run (S07).
func TestHostileRepository(t *testing.T) {
	b := newBench(t)
	command, ran := b.evil()
	b.write(".gitattributes", "*.txt diff=x merge=x\n")
	b.write("a.txt", "dirty\n")
	b.arm(filepath.Join(b.dir, ".git"), command)
	ws := b.made("hostile")
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	b.save(ws)
	res := b.close(ws)
	if ran() || !res.Gone {
		t.Errorf("ran: %v, %+v", ran(), res)
	}
	if _, err := b.k.List(t.Context(), "", Listing{}); err != nil || ran() {
		t.Errorf("listed: %v, ran %v", err, ran())
	}
	if _, _, err := b.k.Prune(t.Context(), ws.Owner, Ending{}); err != nil || ran() {
		t.Errorf("pruned: %v, ran %v", err, ran())
	}
}

// TestForeignGit: a .git that stands for the repository of another folder is refused (S06).
func TestForeignGit(t *testing.T) {
	for way, make := range map[string]func(b *bench, victim, trap string) error{
		"link": func(_ *bench, victim, trap string) error {
			return os.Symlink(filepath.Join(victim, ".git"), filepath.Join(trap, ".git"))
		},
		"file": func(_ *bench, victim, trap string) error {
			return os.WriteFile(filepath.Join(trap, ".git"), []byte("gitdir: "+victim+"/.git\n"), 0o600)
		},
		"file of a worktree": func(b *bench, victim, trap string) error {
			b.git(victim, "worktree", "add", "-q", filepath.Join(b.home, "other"))
			return os.WriteFile(filepath.Join(trap, ".git"), []byte("gitdir: "+victim+"/.git/worktrees/other\n"), 0o600)
		},
		"core.worktree": func(b *bench, victim, trap string) error {
			b.git(trap, "init", "-q")
			b.git(trap, "config", "core.worktree", b.home)
			return nil
		},
		"a pipe": func(_ *bench, _, trap string) error {
			return syscall.Mkfifo(filepath.Join(trap, ".git"), 0o600)
		},
	} {
		t.Run(way, func(t *testing.T) {
			b := newBench(t)
			trap := filepath.Join(b.home, "trap")
			put(t, filepath.Join(trap, "f.txt"), "f\n")
			if err := make(b, b.dir, trap); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, err := b.k.Plan(ctx, Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, From: trap})
			if user, ok := errors.AsType[*troupe.UserError](err); !ok || user.Hint == "" || ctx.Err() != nil {
				t.Errorf("planned: %v", err)
			}
		})
	}
}

// TestHostileTree: what a commit has in its tree is written as git writes it, and never outside.
func TestHostileTree(t *testing.T) {
	b := newBench(t)
	b.git(b.dir, "config", "core.ignorecase", "true")
	outside := filepath.Join(b.home, "outside")
	put(t, filepath.Join(outside, "x"), "outside\n")
	blob := b.git(b.dir, "rev-parse", "HEAD:a.txt")
	put(t, filepath.Join(b.home, "target"), outside)
	to := b.git(b.dir, "hash-object", "-w", "--no-filters", filepath.Join(b.home, "target"))
	// A link and a folder whose names differ in case alone, and two files of that kind.
	sub := b.feed("100644 blob "+blob+"\tx\n", "mktree")
	tree := b.feed("100644 blob "+blob+"\tREADME\n100644 blob "+blob+"\treadme\n120000 blob "+to+"\tD\n040000 tree "+
		sub+"\td\n", "mktree")
	b.git(b.dir, "update-ref", "refs/heads/main", b.git(b.dir, "commit-tree", "-m", "case", tree))
	b.git(b.dir, "reset", "-q", "--hard")
	ws := b.made("case")
	if got := get(filepath.Join(outside, "x")); got != "outside\n" {
		t.Errorf("outside: %q", got)
	}
	res := b.close(ws)
	if res.Tip != res.Base {
		t.Errorf("changed by nobody: %+v", res)
	}
}

// feed is git in the caller's repository, with an input.
func (b *bench) feed(in string, args ...string) string { return b.feedIn(b.dir, in, args...) }

func (b *bench) feedIn(dir, in string, args ...string) string {
	b.t.Helper()
	file := filepath.Join(b.home, "input")
	put(b.t, file, in)
	return b.git(dir, "-c", "alias.fed=!git "+strings.Join(args, " ")+" <"+file, "fed")
}

// TestHostileAgent: nothing that an agent writes into its repository is run, followed or waited for, and what it had
// saved before is kept.
func TestHostileAgent(t *testing.T) {
	for name, act := range map[string]func(b *bench, ws troupe.Workspace, command string) error{
		"arms its repository": func(b *bench, ws troupe.Workspace, command string) error {
			b.arm(filepath.Join(ws.Top, ".git"), command)
			put(b.t, filepath.Join(ws.Top, ".gitattributes"), "* filter=x diff=x merge=x\n")
			return nil
		},
		"removes .git": func(_ *bench, ws troupe.Workspace, _ string) error {
			return os.RemoveAll(filepath.Join(ws.Top, ".git"))
		},
		"makes .git a file": func(b *bench, ws troupe.Workspace, _ string) error {
			return errors.Join(os.RemoveAll(filepath.Join(ws.Top, ".git")), os.WriteFile(
				filepath.Join(ws.Top, ".git"), []byte("gitdir: "+b.dir+"/.git\n"), 0o600))
		},
		"makes .git a link": func(b *bench, ws troupe.Workspace, _ string) error {
			return errors.Join(os.RemoveAll(filepath.Join(ws.Top, ".git")),
				os.Symlink(filepath.Join(b.dir, ".git"), filepath.Join(ws.Top, ".git")))
		},
		"makes pipes": func(_ *bench, ws troupe.Workspace, _ string) error {
			var err error
			for _, name := range []string{"pipe", ".gitignore", "sub/.gitattributes", "a.txt", ".git/HEAD",
				".git/packed-refs", ".git/refs/heads/p", ".git/logs/HEAD", ".git/config", ".git/index",
				".git/objects/pack/pack-1.pack", ".git/objects/00", ".git/info/exclude"} {
				path := filepath.Join(ws.Top, name)
				_ = os.Remove(path)
				err = errors.Join(err, syscall.Mkfifo(path, 0o600))
			}
			return err
		},
		"leads objects elsewhere": func(b *bench, ws troupe.Workspace, _ string) error {
			objects := filepath.Join(ws.Top, ".git/objects")
			return errors.Join(os.RemoveAll(objects), os.Symlink(filepath.Join(b.home, "private/.git/objects"),
				objects))
		},
		"spoils its objects": func(_ *bench, ws troupe.Workspace, _ string) error {
			return filepath.WalkDir(filepath.Join(ws.Top, ".git/objects"),
				func(path string, e os.DirEntry, err error) error {
					if err != nil || e.IsDir() || strings.Contains(path, "info") {
						return err
					}
					return errors.Join(os.Remove(path), os.WriteFile(path, []byte("not an object"), 0o444))
				})
		},
		"names refs oddly": func(b *bench, ws troupe.Workspace, _ string) error {
			head := b.git(ws.Top, "rev-parse", "HEAD")
			return os.WriteFile(filepath.Join(ws.Top, ".git/packed-refs"), []byte("# pack-refs with: sorted\n"+
				head+" refs/../../../HEAD\n"+head+" refs/heads/a\n"+head+" refs/heads/a/b\n"+head+" refs/tip\n"+
				head+" refs/heads/x\x01y\n"+head+" refs/heads/"+strings.Repeat("n", 2000)+"\n"+
				"0123456789012345678901234567890123456789 refs/heads/missing\n"), 0o600)
		},
		"commits what git must not write": func(b *bench, ws troupe.Workspace, command string) error {
			blob := b.git(ws.Top, "hash-object", "-w", command)
			hooks := b.feedIn(ws.Top, "100755 blob "+blob+"\tpost-checkout\n", "mktree")
			dir := b.feedIn(ws.Top, "040000 tree "+hooks+"\thooks\n", "mktree")
			bad := b.feedIn(ws.Top, "040000 tree "+dir+"\t.git\n100644 blob "+blob+"\ta.txt\n", "mktree")
			b.git(ws.Top, "update-ref", "HEAD", b.git(ws.Top, "commit-tree", "-m", "bad", "-p", "HEAD", bad))
			put(b.t, filepath.Join(ws.Top, ".git/hooks/post-checkout"), "#!/bin/sh\n")
			return nil
		},
		"goes to a foreign branch and collects": func(b *bench, ws troupe.Workspace, _ string) error {
			b.git(ws.Top, "reset", "-q", "--hard", "origin/foreign")
			b.git(ws.Top, "reflog", "expire", "--expire=now", "--all")
			b.git(ws.Top, "gc", "-q", "--prune=now")
			return nil
		},
		"moves the folder away": func(b *bench, ws troupe.Workspace, _ string) error {
			return os.Rename(ws.Top, filepath.Join(b.home, "away"))
		},
		"puts a link in its place": func(b *bench, ws troupe.Workspace, _ string) error {
			return errors.Join(os.Rename(ws.Top, filepath.Join(b.home, "away")), os.Symlink(b.dir, ws.Top))
		},
		"shuts folders": func(_ *bench, ws troupe.Workspace, _ string) error {
			return errors.Join(os.Chmod(filepath.Join(ws.Top, "sub"), 0), os.Chmod(ws.Top, 0o500))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			command, ran := b.evil()
			b.git(b.dir, "checkout", "-qb", "foreign")
			b.git(b.dir, "commit", "-q", "--allow-empty", "-m", "foreign")
			b.git(b.dir, "checkout", "-q", "main")
			b.git(b.home, "init", "-q", "private")
			ws := b.made("agent")
			put(t, filepath.Join(ws.Top, "mine.txt"), "line of the agent\n")
			b.git(ws.Top, "add", "-A")
			b.git(ws.Top, "commit", "-qm", "mine")
			b.save(ws)
			caller := b.files()
			if err := act(b, ws, command); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, saveErr := b.k.Save(ctx, ws, nil, "")
			_, knownErr := b.k.Save(ctx, ws, []string{filepath.Join(ws.Top, "a.txt"),
				filepath.Join(ws.Top, "sub/b.txt")}, "")
			res, err := b.k.Close(ctx, ws, Ending{Message: "end"})
			if err != nil || ran() || ctx.Err() != nil {
				t.Fatalf("closed: %+v, %v, ran %v (saved: %v, %v)", res, err, ran(), saveErr, knownErr)
			}
			b.git(b.dir, "gc", "-q", "--prune=now")
			b.has(b.dir, []string{"line of the agent"})
			if name != "commits what git must not write" {
				b.fsck(filepath.Join(b.dir, ".git"))
			}
			if diff := cmp.Diff(caller, b.files()); diff != "" {
				t.Errorf("the caller's: %s", diff)
			}
			if there(ws.Top) {
				return
			}
			b.open(ws)
			if got := get(filepath.Join(ws.Top, "mine.txt")); got != "line of the agent\n" &&
				name != "goes to a foreign branch and collects" || ran() {
				t.Errorf("made again: %q, ran %v", got, ran())
			}
		})
	}
}

// TestPipesOfACaller: what is no file in a caller's repository, which may be another agent's, is waited for by nobody.
func TestPipesOfACaller(t *testing.T) {
	for _, name := range []string{".git/config", ".git/HEAD", ".git/packed-refs", ".git/refs/heads/pipe", ".git/index",
		".git/info/exclude", ".git/objects/info/alternates", ".gitignore", "sub/.gitattributes"} {
		b := newBench(t)
		outer := b.made("outer")
		path := filepath.Join(outer.Top, name)
		_ = os.Remove(path)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		ws, err := b.k.Plan(ctx, Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, From: outer.Top})
		if err == nil {
			_, err = b.k.Open(ctx, ws, Making{})
		}
		if refused := strings.HasPrefix(name, ".git/"); (err != nil) != refused || ctx.Err() != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		if res := b.close(outer); ctx.Err() != nil && !res.Gone && res.Kept == "" {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

// TestStaleLocks: what a git of ours that was killed left locked is free for the next one.
func TestStaleLocks(t *testing.T) {
	b := newBench(t)
	ws := b.made("stale")
	folder := filepath.Join(b.k.data, string(ws.Owner))
	put(t, filepath.Join(folder, "repo.git/index.lock"), "")
	put(t, filepath.Join(folder, "pack-123"), "")
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	if b.save(ws).Files != 1 || there(filepath.Join(folder, "pack-123")) {
		t.Error("it was not saved, or something is left")
	}
}

// TestBadHead: a worktree whose agent committed what git does not take is made again.
func TestBadHead(t *testing.T) {
	b := newBench(t)
	ws := b.made("bad")
	put(t, filepath.Join(ws.Top, "mine.txt"), "mine\n")
	blob := b.git(ws.Top, "hash-object", "-w", "mine.txt")
	dir := b.feedIn(ws.Top, "100644 blob "+blob+"\tconfig\n", "mktree")
	bad := b.feedIn(ws.Top, "040000 tree "+dir+"\t.git\n", "mktree")
	b.git(ws.Top, "update-ref", "HEAD", b.git(ws.Top, "commit-tree", "-m", "bad", "-p", "HEAD", bad))
	head := b.git(ws.Top, "rev-parse", "HEAD")
	b.save(ws)
	if err := os.Rename(ws.Top, filepath.Join(b.home, "away")); err != nil {
		t.Fatal(err)
	}
	b.open(ws)
	if get(filepath.Join(ws.Top, "mine.txt")) != "mine\n" || b.git(ws.Top, "rev-parse", "HEAD") != head {
		t.Error("it is not what it was")
	}
}

// TestForeignObjects: objects that the agent only borrows, from a repository that it names, are not brought.
func TestForeignObjects(t *testing.T) {
	b := newBench(t)
	private := filepath.Join(b.home, "private")
	b.git(b.home, "init", "-q", private)
	put(t, filepath.Join(private, "secret.txt"), "a secret\n")
	b.git(private, "add", "-A")
	b.git(private, "commit", "-qm", "secret")
	secret := b.git(private, "rev-parse", "HEAD")
	ws := b.made("borrower")
	put(t, filepath.Join(ws.Top, ".git/objects/info/alternates"), filepath.Join(private, ".git/objects")+"\n"+
		filepath.Join(b.dir, ".git/objects")+"\n")
	put(t, filepath.Join(ws.Top, ".git/refs/heads/secret"), secret+"\n")
	put(t, filepath.Join(ws.Top, "mine.txt"), "mine\n")
	res := b.close(ws)
	if res.Gone || res.Kept == "" || b.show(res.Tip, "mine.txt") != "mine\n" {
		t.Errorf("result: %+v", res)
	}
	for _, dir := range []string{filepath.Join(b.dir, ".git"), filepath.Join(b.k.data, string(ws.Owner), "repo.git")} {
		if out, err := b.try(b.home, "--git-dir="+dir, "cat-file", "-e", secret); err == nil {
			t.Errorf("%s has the secret: %s", dir, out)
		}
	}
}

// withBomb is a pack with two more objects: a blob, and a difference that copies it 4096 times to each byte of a
// gigabyte.
func withBomb(t *testing.T, pack []byte) []byte {
	t.Helper()
	packed := func(data []byte) []byte {
		var to bytes.Buffer
		z := zlib.NewWriter(&to)
		_, err := z.Write(data)
		if err := errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		return to.Bytes()
	}
	from := bytes.Repeat([]byte("x"), 1<<18)
	delta := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(from))), 1<<30)
	for range 1 << 14 {
		delta = append(delta, 0x80|0x40, 1) // 65,536 from its begin
	}
	head := func(kind, size int) []byte {
		h := []byte{byte(kind<<4 | size&15)}
		for size >>= 4; size > 0; size >>= 7 {
			h[len(h)-1] |= 0x80
			h = append(h, byte(size&0x7f))
		}
		return h
	}
	of := sha1.Sum(append([]byte("blob 262144\x00"), from...))
	out := slices.Concat(pack[:len(pack)-sha1.Size], head(3, len(from)), packed(from), head(7, len(delta)), of[:],
		packed(delta))
	binary.BigEndian.PutUint32(out[8:], binary.BigEndian.Uint32(out[8:])+2)
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

// TestPackOfAnAgentThatUnfolds: a few bytes of a pack that an agent made are not taken apart to a gigabyte.
func TestPackOfAnAgentThatUnfolds(t *testing.T) {
	b := newBench(t)
	ws := b.made("unfolds")
	if got := b.git(ws.Top, "config", "core.bigFileThreshold"); got != strconv.Itoa(packedObject) {
		t.Errorf("its git packs files up to %s as differences", got)
	}
	put(t, filepath.Join(ws.Top, "mine.txt"), "mine\n")
	b.git(ws.Top, "add", "-A")
	b.git(ws.Top, "commit", "-qm", "mine")
	b.git(ws.Top, "repack", "-adlq")
	bomb := withBomb(t, []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x00"+strings.Repeat("-", sha1.Size)))
	put(t, filepath.Join(ws.Top, ".git/objects/pack/pack-bomb.pack"), string(bomb))
	agent, err := os.OpenRoot(filepath.Join(ws.Top, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	p, err := b.k.place(ws)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.k.keeper(p)
	if err != nil {
		t.Fatal(err)
	}
	err = r.bringPack(t.Context(), agent, "objects/pack/pack-bomb.pack", 20)
	if err == nil || !strings.Contains(err.Error(), "packed as a difference") {
		t.Error(err)
	}
	// What is needed comes all the same, and the bomb keeps nothing from being saved.
	if res := b.close(ws); res.Kept != "" || b.show(res.Tip, "mine.txt") != "mine\n" {
		t.Errorf("result: %+v", res)
	}
}

// bomb makes a commit of trees in trees, which name 10 files to the power of levels.
func (b *bench) bomb(dir string, levels int) string {
	b.t.Helper()
	id, kind, mode := b.feedIn(dir, "x\n", "hash-object", "-w", "--stdin"), "blob", "100644"
	for range levels {
		var list strings.Builder
		for i := range 10 {
			fmt.Fprintf(&list, "%s %s %s\tn%d\n", mode, kind, id, i)
		}
		id, kind, mode = b.feedIn(dir, list.String(), "mktree"), "tree", "040000"
	}
	return b.git(dir, "commit-tree", "-p", "HEAD", "-m", "many", id)
}

// TestTreesInTrees: a commit that names more files than anybody has is not compared with another: 10 lines of trees
// more have git take ten times the memory.
func TestTreesInTrees(t *testing.T) {
	b := newBench(t)
	ws := b.made("many")
	put(t, filepath.Join(ws.Top, "mine.txt"), "mine\n")
	b.git(ws.Top, "branch", "many", b.bomb(ws.Top, 9))
	if s := b.save(ws); s.Tree == "" {
		t.Error("nothing was saved beside a branch of that kind")
	}
	b.git(ws.Top, "update-ref", "HEAD", "many")
	if s := b.save(ws); s.Tree == "" {
		t.Error("nothing was saved beside a HEAD of that kind")
	}
	res := b.close(ws)
	if res.Gone || !strings.Contains(res.Kept, "names more than 3000000 files") ||
		b.show(res.Tip, "mine.txt") != "mine\n" {
		t.Errorf("result: %+v", res)
	}
}

// TestSameObject: an object is what its name says, or stays behind.
func TestSameObject(t *testing.T) {
	store := func(text string) *bytes.Buffer {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		fmt.Fprint(z, text)
		z.Close()
		return &b
	}
	const id = "257cc5642cb1a054f08cc83f2d943e56fd3ebe99" // of “foo\n”
	if err := sameObject(store("blob 4\x00foo\n"), id); err != nil {
		t.Errorf("the one that it is: %v", err)
	}
	for _, text := range []string{"blob 4\x00fop\n", "blob 3\x00foo\n", "blob 5\x00foo\n", "blob\x00foo\n", "foo", "",
		"blob -1\x00", "tree 200000000\x00", strings.Repeat("b", 100) + " 4\x00foo\n"} {
		if err := sameObject(store(text), id); err == nil {
			t.Errorf("%q passed", text)
		}
	}
	// A head without end is not read to its end: the 256 MB that these bytes stand for would all be held.
	size := 256 << 20
	endless := store(strings.Repeat("b", size))
	total := endless.Len()
	if err := sameObject(endless, id); err == nil || total-endless.Len() > 64<<10 {
		t.Errorf("of a head without end %d of %d bytes were read: %v", total-endless.Len(), total, err)
	}
	if err := sameObject(strings.NewReader("no zlib"), id); err == nil {
		t.Error("what is not packed passed")
	}
}

// TestPackThatFailedOnce: a pack that could not be brought is looked at again.
func TestPackThatFailedOnce(t *testing.T) {
	b := newBench(t)
	ws := b.made("packs")
	put(t, filepath.Join(ws.Top, "mine.txt"), "mine\n")
	b.git(ws.Top, "add", "-A")
	b.git(ws.Top, "commit", "-qm", "mine")
	head := b.git(ws.Top, "rev-parse", "HEAD")
	b.git(ws.Top, "repack", "-adlq")
	packs, err := filepath.Glob(filepath.Join(ws.Top, ".git/objects/pack/*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	whole := get(packs[0])
	if err := os.Remove(packs[0]); err != nil { // it cannot be written to
		t.Fatal(err)
	}
	put(t, packs[0], whole[:len(whole)/2])
	if res := b.close(ws); res.Gone || res.Tip == head {
		t.Fatalf("%+v", res)
	}
	put(t, packs[0], whole)
	if res := b.close(ws); !res.Gone || b.git(b.dir, "merge-base", head, res.Tip) != head {
		t.Errorf("%+v", res)
	}
}
