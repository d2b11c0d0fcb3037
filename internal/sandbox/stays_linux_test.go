//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// places are a project without a repository, a cache, one that is not there yet, a folder of the setting
// sandbox.write, another of it that holds a cache, and what a command is to change nothing of.
type places struct {
	*room
	victim string
	stay   []string // folders that must stay what they are
}

func newPlaces(t *testing.T, o Options) *places {
	t.Helper()
	has(t, "python3")
	r := newRoom(t, o).workspace()
	needLandlock(t, r)
	base := filepath.Dir(r.ws)
	p := &places{room: r, victim: filepath.Join(base, "victim")}
	at := func(name string) string { return filepath.Join(base, name) }
	for _, dir := range []string{"victim", "cache", "extra", "wide/a/cache"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(at("wide/a"), at("wide/link")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"victim/f", "ws/main.c", "cache/c", "wide/a/cache/c"} {
		if err := os.WriteFile(at(file), []byte("as it was"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.conf.Writable = append(r.conf.Writable, at("extra"), at("wide"))
	r.conf.Scratch = []string{at("cache"), at("wide/a/cache"), at("late/cache")}
	r.conf.Fixed = []string{at("wide/link/cache"), at("wide/late")}
	r.conf.Writable = append(r.conf.Writable, at("wide/late"))
	p.stay = []string{r.ws, r.temp, at("cache"), at("extra"), at("wide"), at("wide/a"), at("wide/a/cache")}
	r.env = append(r.env, "BASE="+base, "WS="+r.ws, "VICTIM="+p.victim)
	return p
}

// What is granted are the names in a folder. The folder itself, and what leads to it, stays: a command that put a
// link in its place would choose what the next one may change.
func TestGrantedFoldersStay(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"temporary folder": "cd /; rmdir $TMPDIR; ln -s $VICTIM $TMPDIR",
		"it, to a link":    "cd /; mkdir $TMPDIR/d; mv $TMPDIR $WS/moved; ln -s / $TMPDIR",
		"cache":            "mv $BASE/cache $TMPDIR/old; ln -s $VICTIM $BASE/cache",
		"cache, emptied":   "cd /; rm -rf $BASE/cache; ln -s $VICTIM $BASE/cache",
		"missing cache":    "mkdir $BASE/late; ln -s $VICTIM $BASE/late/cache; ln -sT $VICTIM $BASE/late",
		"moved cache": "ln -s $VICTIM $TMPDIR/l; mv -T $TMPDIR/l $BASE/late; mv -T $TMPDIR/l $BASE/late/cache; " +
			"ln -s $VICTIM l; mkdir $BASE/late; mv -T l $BASE/late/cache",
		"write folder": "cd /; rmdir $BASE/extra; ln -s $VICTIM $BASE/extra",
		"missing write folder": "ln -s $VICTIM $BASE/wide/late; ln -s $VICTIM l; mv -T l $BASE/wide/late; " +
			"cp -d l $BASE/wide/late",
		"project":             "cd /; mv $WS $TMPDIR/p; ln -s $VICTIM $WS",
		"project, to another": "cd /; mv $WS $BASE/wide/p; ln -s $VICTIM $WS",
		"what leads to a cache": "cd $BASE/wide; mv a b; mkdir a; ln -s $VICTIM a/cache; rm link; mkdir link; " +
			"ln -s $VICTIM link/cache; mv link $TMPDIR/l",
		"exchange": python(`
base=os.environ['BASE'].encode()
for name in (b'cache',b'extra',b'ws',b'temp',b'wide/a',b'wide/a/cache'):
    for at in (b'temp',b'cache',b'extra',b'ws'):
        os.symlink(base+b'/victim',base+b'/'+at+b'/l') if not os.path.lexists(base+b'/'+at+b'/l') else 0
        for flags in (2,0): libc.renameat2(-100,base+b'/'+at+b'/l',-100,base+b'/'+name,flags)
        for flags in (2,0): libc.renameat2(-100,base+b'/'+name,-100,base+b'/'+at+b'/l',flags)
`),
	} {
		for how, o := range map[string]Options{"": {}, ", no namespaces": {NoNamespaces: true}} {
			t.Run(name+how, func(t *testing.T) {
				t.Parallel()
				p := newPlaces(t, o)
				out, _, w := p.brief(command)
				for _, dir := range p.stay {
					if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
						t.Errorf("%s is no folder any more (%v)", dir, err)
					}
				}
				again, _, w2 := p.brief("cd /; for to in $VICTIM $BASE/wide/late $BASE/late/cache $BASE/late; do " +
					"echo evil > $to/f; echo evil > $to/new; done; rm -f $VICTIM/f")
				if data, err := os.ReadFile(filepath.Join(p.victim, "f")); err != nil || string(data) != "as it was" {
					t.Errorf("the victim holds %q (%v)", data, err)
				}
				if exists(filepath.Join(p.victim, "new")) {
					t.Error("a file was made there")
				}
				if t.Failed() {
					t.Logf("%s\nattempted %s\n%s\nattempted %s", out, attempts(w), again, attempts(w2))
				}
			})
		}
	}
}

// A file that is granted by its name stays a file: a link in its place would choose what the next one may write.
func TestGrantedFilesStayFiles(t *testing.T) {
	t.Parallel()
	p := newPlaces(t, Options{})
	file := p.file("granted", "as it was")
	p.conf.Writable, p.conf.Fixed = append(p.conf.Writable, file), append(p.conf.Fixed, file)
	out, _, _ := p.brief(python(`
v=os.environ['VICTIM']; os.symlink(v+'/f','l'); os.symlink(v+'/f',os.environ['TMPDIR']+'/l')
for l in (b'l',os.environ['TMPDIR'].encode()+b'/l'):
    for flags in (2,0):
        print(libc.renameat2(-100,b'granted',-100,l,flags),libc.renameat2(-100,l,-100,b'granted',flags))
`))
	if info, err := os.Lstat(file); err == nil && !info.Mode().IsRegular() {
		t.Errorf("it is %v by now\n%s", info.Mode(), out)
	}
}

// What was a folder and is a link by now is not followed, whoever put it there.
func TestLinksAreNotGranted(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {NoNamespaces: true}, {NoNotify: true}} {
		p := newPlaces(t, o)
		base := filepath.Dir(p.ws)
		for _, name := range []string{"temp", "cache", "extra"} {
			path := filepath.Join(base, name)
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(p.victim, path); err != nil {
				t.Fatal(err)
			}
		}
		out, _, _ := p.brief("echo evil > $VICTIM/f; for to in temp cache extra; do echo evil > $BASE/$to/new; done")
		if data, err := os.ReadFile(filepath.Join(p.victim, "f")); err != nil || string(data) != "as it was" {
			t.Errorf("%+v: the victim holds %q (%v)\n%s", o, data, err, out)
		}
		if exists(filepath.Join(p.victim, "new")) {
			t.Errorf("%+v: a file was made there\n%s", o, out)
		}
	}
}

// Everything below a granted folder is a command's to change, its own mode too.
func TestFoldersThatStayAreUsed(t *testing.T) {
	t.Parallel()
	p := newPlaces(t, Options{})
	out, code, w := p.run(`set -e; cd $BASE
for d in temp cache extra ws wide wide/a/cache; do
  mkdir $d/d; echo x > $d/d/f; mv $d/d $d/e; rm -r $d/e; touch $d; chmod 755 $d
done
mkdir -p late/cache wide/late; echo x > late/cache/f; echo x > wide/late/f; rm late/cache/f
cp -a ws/main.c temp/; tar c -C ws . | tar x -C temp; cat late/cache/f 2>/dev/null || cat wide/late/f`)
	if code != 0 || out != "x\n" || len(w.Attempts) > 0 {
		t.Errorf("exit %d, attempted %s\n%s", code, attempts(w), out)
	}
}

// A cache that holds the place of one that is missing is used as any other: nothing in it is guarded.
func TestCacheAroundAMissingOneStays(t *testing.T) {
	t.Parallel()
	r := newRoom(t, Options{})
	needLandlock(t, r)
	cache := filepath.Join(filepath.Dir(r.ws), "cache")
	missing := filepath.Join(cache, "go")
	if err := os.Mkdir(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	r.conf.Scratch, r.conf.Fixed = []string{cache, missing}, []string{missing}
	r.conf.Guarded = func(string) string { return "it is guarded" }
	r.conf.Leads = func(string) bool { return true }
	out, code, w := r.run("set -e; cd " + cache + `
mkdir d; echo x > d/f; ln d/f d/g; ln -s f d/l; ln -s d l; echo x >> d/l; chmod 700 d; touch d
mv d .github; cp -a .github/f .envrc; mv .github d; rm -r d .envrc l; echo y > $TMPDIR/t; mv $TMPDIR/t t; rm t
! ln -s / go; ! ln -sT /etc go; mkdir -p go/a; echo z > go/a/f; ! mv go elsewhere; ! rmdir go; cat go/a/f`)
	if info, err := os.Lstat(missing); code != 0 || len(w.Attempts) > 0 || err != nil || !info.IsDir() {
		t.Errorf("exit %d, attempted %s, %v\n%s", code, attempts(w), err, out)
	}
}

// A cache in which a folder must stay is the kernel's to judge only where a mount keeps that folder.
func TestCacheWithAFolderThatStaysIsHeld(t *testing.T) {
	t.Parallel()
	r := newRoom(t, Options{})
	cache := filepath.Join(filepath.Dir(r.ws), "cache")
	stays := filepath.Join(cache, "go")
	if err := os.MkdirAll(stays, 0o700); err != nil {
		t.Fatal(err)
	}
	r.conf.Scratch, r.conf.Fixed = []string{cache}, []string{stays}
	for _, mounts := range []bool{false, true} {
		p := newPlan(r.conf, Support{Notify: true, Namespaces: mounts})
		if native := slices.Contains(p.scratch, cache); native != mounts || slices.Contains(p.held, cache) == mounts {
			t.Errorf("with mounts %v: the kernel judges %q, the listener %q", mounts, p.scratch, p.held)
		}
	}
}
