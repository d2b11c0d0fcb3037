package worktree

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// away packs a workspace whose agent sleeps.
func (b *bench) away(ws troupe.Workspace) (Away, []byte) {
	b.t.Helper()
	var pack bytes.Buffer
	a, ok, err := Pack(b.t.Context(), b.keeper(), ws, &pack)
	if err != nil || !ok {
		b.t.Fatalf("pack: %t, %v", ok, err)
	}
	return a, pack.Bytes()
}

// TestAway: a workspace that goes to another home is made there as it was, beside a repository that has none of what it
// builds on.
func TestAway(t *testing.T) {
	b, other := newRaced(t), newRaced(t)
	ws := b.made("sleeper")
	b.work(ws)
	put(t, filepath.Join(ws.Top, "a.txt"), "stashed\n")
	b.git(ws.Top, "stash")
	files, refs := b.filesOf(ws.Top), b.git(ws.Top, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads")
	stash := b.git(ws.Top, "rev-parse", "stash@{0}^{tree}")
	if gone, why, err := PutAway(t.Context(), b.keeper(), ws, b.opened(ws)); !gone || err != nil {
		t.Fatalf("put away: %q, %v", why, err)
	}
	a, pack := b.away(ws)
	k := other.keeper()
	there, err := Settle(k, a.Workspace, other.dir)
	if err == nil {
		err = Unpack(t.Context(), k, there, a, bytes.NewReader(pack))
	}
	if err != nil {
		t.Fatal(err)
	}
	if there.Of != other.dir || !troupe.Within(there.Top, k.folders) || there.Owner != ws.Owner {
		t.Errorf("it is %+v", there)
	}
	other.open(there)
	got := other.filesOf(there.Top)
	for name, was := range files {
		if got[name] != was && !strings.HasPrefix(name, ".git/") {
			t.Errorf("%s: %q, was %q", name, got[name], was)
		}
	}
	if now := other.git(there.Top, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads"); now != refs {
		t.Errorf("its branches:\n%s\nwere:\n%s", now, refs)
	}
	if got := other.git(there.Top, "rev-parse", "stash@{0}^{tree}"); got != stash {
		t.Errorf("its stash is %s, was %s", got, stash)
	}
	if res := other.close(there); !res.Gone || res.Unkept != "" {
		t.Errorf("its end: %+v", res)
	}
	other.git(other.dir, "cat-file", "-e", a.Base)
	if _, err := Settle(k, a.Workspace, other.dir); err == nil {
		t.Error("it came twice")
	}
}

// fat makes a tree of one large file under many names: few bytes that stand for gigabytes.
func (b *bench) fat(dir string) string {
	b.t.Helper()
	put(b.t, filepath.Join(dir, "zeros"), "")
	if err := os.Truncate(filepath.Join(dir, "zeros"), 100<<20); err != nil {
		b.t.Fatal(err)
	}
	id := b.git(dir, "hash-object", "-w", "zeros")
	var list strings.Builder
	for i := range 60 {
		fmt.Fprintf(&list, "100644 blob %s\tn%02d\n", id, i)
	}
	return b.feedIn(dir, list.String(), "mktree")
}

// TestAwayRefuses: of what an enemy says of a workspace nothing leads out of its folder, and what is not whole is
// refused.
func TestAwayRefuses(t *testing.T) {
	b, other := newBench(t), newBench(t)
	b.git(b.dir, "commit", "-q", "--allow-empty", "-m", "second") // so that what it begins with is built on something
	ws := b.made("sleeper")
	b.work(ws)
	b.save(ws)
	a, pack := b.away(ws)
	k, absentID := other.keeper(), strings.Repeat("ab", 20)
	for _, name := range []string{"../../x", "/etc", "", "-x", "a/../../x"} {
		evil := a.Workspace
		evil.Name = name
		if got, err := Settle(k, evil, other.dir); err == nil {
			t.Errorf("%q is %s", name, got.Top)
		}
	}
	auto := a.Workspace
	auto.Merge = troupe.MergeAuto
	if got, err := Settle(k, auto, other.dir); err != nil || got.Merge == troupe.MergeAuto {
		t.Errorf("a file has work merged by itself: %+v, %v", got, err)
	}
	plain := t.TempDir()
	if _, err := Settle(k, a.Workspace, plain); err == nil {
		t.Error("a worktree beside a folder that is in no repository")
	}
	for name, x := range map[string]func(a *Away) []byte{
		"a base that is an option":       func(a *Away) []byte { a.Base = "--upload-pack=x"; return pack },
		"a tip that is one":              func(a *Away) []byte { a.Tip = "--all"; return pack },
		"a base that is not there":       func(a *Away) []byte { a.Base = absentID; return pack },
		"a ref to nothing":               func(a *Away) []byte { a.Kept[keptAgent+"heads/x"] = absentID; return pack },
		"a head that its base is not on": func(a *Away) []byte { a.Head = a.Kept[keptHead]; return pack },
		"no head below its base":         func(a *Away) []byte { a.Head = ""; return pack },
		"a pack that unfolds":            func(*Away) []byte { return withBomb(t, pack) },
		"a commit of trees in trees": func(a *Away) []byte {
			a.Kept[keptSaved] = other.bomb(other.dir, 9)
			return pack
		},
		"a file under too many names": func(a *Away) []byte {
			a.Kept[keptSaved] = other.fat(other.dir)
			return pack
		},
		"half a pack": func(*Away) []byte { return pack[:len(pack)/2] },
		"no pack":     func(*Away) []byte { return nil },
		"a pack that was changed": func(*Away) []byte {
			p := slices.Clone(pack)
			p[len(p)/2]++
			return p
		},
	} {
		evil := a
		evil.Kept = maps.Clone(a.Kept)
		data := x(&evil)
		there, err := Settle(k, evil.Workspace, other.dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := Unpack(t.Context(), k, there, evil, bytes.NewReader(data)); err == nil {
			t.Errorf("%s: it is taken", name)
		}
		if err := Forget(k, there.Owner); err != nil {
			t.Error(err)
		}
	}
	evil := maps.Clone(a.Kept)
	for _, name := range []string{"agent/../../../x", "agent/heads/x.lock", keptBeside, keptRepos + "x", "old/../x",
		"HEAD/x",
		"agent/heads/a b", "stashed/\n"} {
		evil[name] = a.Base
	}
	if got := carriedRefs(evil); !maps.Equal(got, carriedRefs(a.Kept)) {
		t.Errorf("these refs come: %v", got)
	}
}

// TestAwayWithHooks: a tree that would put files into a repository's own folder, or above it, is not checked out.
func TestAwayWithHooks(t *testing.T) {
	b, other := newBench(t), newBench(t)
	ws := b.made("sleeper")
	b.work(ws)
	a, _ := b.away(ws)
	blob := strings.TrimSpace(b.feed("#!/bin/sh\ntouch ran\n", "hash-object", "-w", "--stdin"))
	hooks := strings.TrimSpace(b.feed("100755 blob "+blob+"\tpost-checkout\n", "mktree"))
	for i, name := range []string{".git", "..", ".GIT"} {
		inner := strings.TrimSpace(b.feed("040000 tree "+hooks+"\thooks\n", "mktree"))
		tree := strings.TrimSpace(b.feed("040000 tree "+inner+"\t"+name+"\n", "mktree"))
		evil := a
		evil.Kept = kept{keptSaved: tree}
		pack := b.feed(tree+"\n"+a.Base+"\n", "pack-objects", "--revs", "--stdout", "--quiet")
		k := other.keeper()
		evil.Workspace.Owner = newID(t)
		evil.Workspace.Name = "evil" + string(rune('a'+i))
		there, err := Settle(k, evil.Workspace, other.dir)
		if err != nil {
			t.Fatal(err)
		}
		evil.Tip = ""
		if err = Unpack(t.Context(), k, there, evil, strings.NewReader(pack)); err == nil {
			_, err = k.Open(t.Context(), there, Making{})
		}
		t.Logf("%s: %v", name, err)
		for _, path := range []string{filepath.Join(there.Top, ".git", "hooks", "post-checkout"),
			filepath.Join(filepath.Dir(there.Top), "hooks"), filepath.Join(other.dir, "ran")} {
			if _, err := os.Lstat(path); err == nil {
				t.Errorf("%s is there", path)
			}
		}
	}
}

// TestPackThatUnfolds: a pack in which little stands for much is refused before git reads it; one of git's is not.
func TestPackThatUnfolds(t *testing.T) {
	t.Parallel()
	packed := func(data []byte) []byte {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		_, err := z.Write(data)
		if err := errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	of := func(objects ...[]byte) []byte {
		head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(objects)))
		return slices.Concat(head, bytes.Join(objects, nil))
	}
	blob := append([]byte{3<<4 | 5}, packed([]byte("hello"))...)
	delta := func(to uint64) []byte {
		d := binary.AppendUvarint(binary.AppendUvarint(nil, 5), to)
		return slices.Concat([]byte{7<<4 | byte(len(d))}, make([]byte, 20), packed(d))
	}
	many := make([][]byte, 0, 40)
	for range cap(many) {
		many = append(many, delta(packedObject))
	}
	for name, x := range map[string]struct {
		pack []byte
		fine bool
	}{
		"plain":            {of(blob, delta(7)), true},
		"one that unfolds": {of(blob, delta(packedObject+1)), false},
		"many that do":     {of(many...), false},
		"a wrong size":     {of(append([]byte{3<<4 | 9}, packed([]byte("hello"))...)), false},
		"a size that ends": {of([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}), false},
		"cut off":          {of(blob, blob[:4]), false},
		"none":             {nil, false},
	} {
		if err := checkPack(bytes.NewReader(x.pack), 20); (err == nil) != x.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAwayNames: a workspace that comes gets another name where one has its name that came before, also while that one
// has no folder yet, and one that has got the name meanwhile keeps it.
func TestAwayNames(t *testing.T) {
	b, other := newBench(t), newBench(t)
	ws := b.made("twin")
	b.work(ws)
	b.save(ws)
	a, pack := b.away(ws)
	k := other.keeper()
	first, second := a, a
	first.Workspace.Owner, second.Workspace.Owner = newID(t), newID(t)
	settled := func(a Away) troupe.Workspace {
		t.Helper()
		there, err := Settle(k, a.Workspace, other.dir)
		if err != nil {
			t.Fatal(err)
		}
		return there
	}
	one, two := settled(first), settled(second)
	if one.Name != "twin" || two.Name != "twin" {
		t.Fatalf("they are %q and %q", one.Name, two.Name)
	}
	if err := Unpack(t.Context(), k, one, first, bytes.NewReader(pack)); err != nil {
		t.Fatal(err)
	}
	err := Unpack(t.Context(), k, two, second, bytes.NewReader(pack))
	if taken, ok := errors.AsType[*NameTaken](err); !ok || taken.By != one {
		t.Errorf("two have one name: %v", err)
	}
	if err := Forget(k, two.Owner); err != nil {
		t.Fatal(err)
	}
	two = settled(second)
	if two.Name == "twin" || !strings.HasPrefix(two.Name, "twin-") {
		t.Errorf("it is called %q", two.Name)
	}
	if err := Unpack(t.Context(), k, two, second, bytes.NewReader(pack)); err != nil {
		t.Error(err)
	}
}

// TestAwayBorrowsNothing: a workspace that came has all that it needs by itself, also what the clone that it came
// beside had already.
func TestAwayBorrowsNothing(t *testing.T) {
	b, other := newBench(t), newBench(t)
	b.git(b.dir, "commit", "-q", "--allow-empty", "-m", "of there alone")
	ws := b.made("sleeper")
	b.work(ws)
	b.save(ws)
	a, _ := b.away(ws)
	other.git(other.dir, "fetch", "-q", b.dir, "main:fetched")
	k := other.keeper()
	there, err := Settle(k, a.Workspace, other.dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.k.place(ws)
	if err != nil {
		t.Fatal(err)
	}
	pack, err := exec.Command("sh", "-c",
		`printf '%s\n' "$@" | git -C "$0" pack-objects --revs --stdout --quiet`, p.repo,
		strings.Join(a.ids(), "\n"), "^"+a.Base).Output()
	if err == nil {
		err = Unpack(t.Context(), k, there, a, bytes.NewReader(pack))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(other.dir, ".git"), filepath.Join(other.home, "lost")); err != nil {
		t.Fatal(err)
	}
	if p, err = k.place(there); err != nil {
		t.Fatal(err)
	}
	ids := append([]string{"--git-dir=" + p.repo, "rev-list", "--objects", "--quiet"}, a.ids()...)
	if out, err := other.try(other.home, ids...); err != nil {
		t.Errorf("something is lacking: %s", out)
	}
}
