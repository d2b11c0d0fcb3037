//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// guarded is a workspace with a repository, of which some must stay as it is.
func guarded(t testing.TB, o Options) *room {
	t.Helper()
	has(t, "git", "python3")
	r := newRoom(t, o).workspace()
	needLandlock(t, r)
	r.env = append(r.env, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@a")
	if out, code, _ := r.plain("git init -q -b main . && echo x > tracked && git add -A && git commit -qm first && " +
		"mkdir -p sub .claude/agents"); code != 0 {
		t.Fatal(out)
	}
	r.file(".claude/agents/mine.md", "mine")
	r.file("linked/config", "real")
	if err := os.Symlink("linked/config", filepath.Join(r.ws, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{".git/hooks", ".git/config", ".claude/settings.json", ".claude/agents",
		".vscode/settings.json", ".mcp.json", ".troupe", ".bashrc"} {
		r.conf.Protected = append(r.conf.Protected, filepath.Join(r.ws, p))
	}
	return r
}

// plain runs a command that nothing confines.
func (r *room) plain(command string) (string, int, troupe.Watched) {
	r.t.Helper()
	was := r.conf
	defer func() { r.conf = was }()
	r.conf.Level = troupe.LevelNone
	return r.run(command)
}

// only is the part of a state that must not change.
func (r *room) only(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for path, s := range state(t, r.ws) {
		if troupe.WithinAny(path, allResolved(r.conf.Protected, true)) && !strings.Contains(path, "set-aside") {
			all[path] = s
		}
	}
	return all
}

func waysAround() map[string]string {
	return map[string]string{
		"hook":            "echo evil > .git/hooks/pre-commit",
		"hook over":       "for f in .git/hooks/*; do echo evil > $f; done; rm -rf .git/hooks",
		"hooks away":      "mv .git/hooks .git/old; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
		"git away":        "mv .git .git2; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; cp .git2/* .git",
		"git exchange":    python("os.makedirs('n/hooks'); libc.syscall(316,-100,b'n',-100,b'.git',2)"),
		"config":          "git config core.fsmonitor evil",
		"config append":   "printf '[core]\\n\\tfsmonitor = evil\\n' >> .git/config",
		"config rename":   "cp .git/config c; echo evil >> c; mv -f c .git/config",
		"config link":     "ln .git/config c && echo evil >> c",
		"config symlink":  "ln -s .git/config c && echo evil >> c",
		"config mode":     "chmod 777 .git/config .git/hooks",
		"config times":    "touch .git/config .git/hooks",
		"own root":        "echo evil >> /proc/self/root$PWD/.git/config",
		"umount":          "umount .git/config; umount -l .git/hooks; mount -o remount,rw .git/hooks",
		"unshare":         "unshare -Urm sh -c 'umount .git/config; echo evil >> .git/config'",
		"settings":        "mkdir -p .claude; echo evil > .claude/settings.json",
		"settings rename": "mkdir x; echo evil > x/settings.json; mv .claude y; mv x .claude",
		"settings move":   "echo evil > s; mv s .claude/settings.json",
		"settings link":   "echo evil > s; ln s .claude/settings.json; ln -s ../s .claude/settings.json",
		"agent": "echo evil > .claude/agents/new.md; echo evil > .claude/agents/mine.md; rm -rf " +
			".claude/agents",
		"folder":         "mkdir .vscode && echo evil > .vscode/settings.json",
		"folder rename":  "mkdir v && echo evil > v/settings.json && mv v .vscode",
		"folder symlink": "mkdir v && echo evil > v/settings.json && ln -s v .vscode",
		"whole folder":   "mkdir .troupe && echo evil > .troupe/config.yaml",
		"symlink target": "echo evil > .mcp.json; echo evil > linked/config",
		"symlink swap":   "rm .mcp.json; echo evil > .mcp.json",
		"symlink rename": "echo evil > m; mv m .mcp.json; mv linked l2",
		"dot file":       "echo evil > .bashrc; touch .bashrc; cp tracked .bashrc",
		"archive": "mkdir -p a/.vscode a/.git/hooks; echo evil | tee a/.vscode/settings.json " +
			"a/.git/hooks/pre-commit a/.bashrc; tar cf $TMPDIR/a.tar -C a .; tar xf $TMPDIR/a.tar",
		"race": python(`
buf=ctypes.create_string_buffer(300)
stop=False
def flip():
    while not stop:
        ctypes.memmove(buf,b'.bashrc\0',8); ctypes.memmove(buf,b'.basgrc\0',8)
th=threading.Thread(target=flip); th.start()
while racing():
    fd=libc.open(buf,0o101,0o644)
    if fd>=0: os.write(fd,b'evil'); os.close(fd)
    elif said_no(): refused=True
stop=True`),
		"race of links": python(`
stop=False
def flip():
    while not stop:
        for target in ('tracked','.bashrc','.git/config','.git/hooks/pre-commit'):
            try: os.symlink(target,'n'); os.rename('n','l')
            except OSError as e: # else the link would stay there, and lead to one and the same for ever
                print('flip', e)
                try: os.unlink('n')
                except OSError: pass
th=threading.Thread(target=flip); th.start()
times=0 # one may be the mounts' no to what the listener took for another file: of that nothing is seen
while racing():
    for f in (lambda: open('l','a').write('evil'), lambda: os.chmod('l',0o777), lambda: os.truncate('l',0)):
        try: f()
        except FileNotFoundError: pass
        except OSError: times+=1; refused=refused or times>=20
stop=True`),
	}
}

func TestWorkspaceKeepsWhatIsProtected(t *testing.T) {
	t.Parallel()
	for name, o := range lacking() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "whole" && !everything() && (brief() || name != "least" && name != "no namespaces") ||
				strings.HasPrefix(name, "landlock") && name != "landlock 1" {
				t.Skip("a lesser kernel")
			}
			for way, command := range waysAround() {
				r := guarded(t, o)
				before := r.only(t)
				if o.NoNotify {
					command = "export UNWATCHED=1; " + command
				}
				out, _, w := r.run(command)
				after := r.only(t)
				if len(w.Restored) > 0 { // what was put back has new times
					for _, m := range []map[string]string{before, after} {
						for path, s := range m {
							m[path] = s[strings.LastIndex(s, " ")+1:]
						}
					}
				}
				if list := changes(before, after); len(list) > 0 {
					t.Errorf("%s changed %q (attempts %s, restored %q)\n%s", way, list, attempts(w), w.Restored, out)
				}
				for _, p := range w.Restored {
					if !o.NoNamespaces && !o.NoNotify && !strings.HasPrefix(way, "race") {
						t.Errorf("%s: %s had to be put back\n%s", way, p, out)
					}
				}
				if !o.NoNotify && len(w.Attempts) == 0 && way != "umount" && way != "unshare" {
					t.Errorf("%s: nothing was seen\n%s", way, out)
				}
				os.RemoveAll(filepath.Dir(r.ws))
			}
		})
	}
}

func TestWorkspaceWorks(t *testing.T) {
	t.Parallel()
	for name, o := range lacking() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := guarded(t, o)
			command := `set -e
echo y > tracked; git add -A; git commit -qm second; git status --short; git log --oneline | wc -l; git diff HEAD~1 --stat | cat
git branch b; git tag t; git stash list; mkdir -p a/b/c; echo x > a/b/c/f; mv a z; rm -rf z; ln -s tracked l; ln tracked h; rm l h
echo x | tee $TMPDIR/x | sort; mkfifo p; (echo through > p &); cat p; rm p
set -m; sleep 0.1 & wait; set +m
python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs,[-1,-2]))'`
			if !o.NoNotify {
				command += "\nchmod 755 tracked; touch -d 2001-01-01 tracked; cp -p tracked copied; test -x copied; " +
					"tar cf $TMPDIR/t.tar tracked; rm tracked; tar xf $TMPDIR/t.tar; git checkout -q HEAD -- ."
			}
			if o.Landlock == 1 {
				command = strings.NewReplacer("ln tracked h; rm l h", "rm l").Replace(command)
			}
			if o.NoNamespaces {
				command = command[:strings.Index(command, "python3 -c")] // it needs shared memory
			}
			out, code, w := r.run(command)
			if code != 0 || len(w.Attempts) > 0 || len(w.Restored) > 0 || !o.NoNotify && !w.Touched {
				t.Errorf("exit %d, attempted %s, restored %q, touched %v\n%s\n%+v", code, attempts(w), w.Restored,
					w.Touched, out, r.box.report())
			}
		})
	}
}

func TestHiddenCannotBeRead(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	for name, o := range lacking() {
		for _, level := range []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace} {
			t.Run(name+"/"+string(level), func(t *testing.T) {
				t.Parallel()
				r := newRoom(t, o)
				needLandlock(t, r)
				if level == troupe.LevelWorkspace {
					r.workspace()
				}
				r.file(".env", "LEAKME")
				r.file("secret/key", "LEAKME")
				r.file("plain", "open")
				if err := os.WriteFile(filepath.Join(r.home, "key"), []byte("LEAKME"), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(r.home, filepath.Join(r.ws, "to")); err != nil {
					t.Fatal(err)
				}
				r.conf.Hidden = []string{filepath.Join(r.ws, ".env"), filepath.Join(r.ws, "secret"),
					filepath.Join(r.ws, "to"), filepath.Join(r.ws, "none"), "/none/at/all"}
				out, _, _ := r.run(`cat .env secret/* to/key /proc/self/root$PWD/.env /proc/self/cwd/secret/key; ls secret/; ls to/; ln .env h; cat h; cp .env c; cat c; mv secret s2; cat s2/key; ln -s .env l; cat l
grep -r LEAKM . ; python3 -c 'import os; print(os.open(".env",os.O_RDWR))'; tar cf - . | grep -a LEAKM; ls; cat plain`)
				if strings.Contains(out, "LEAK") {
					t.Error(out)
				}
				if !o.NoNamespaces && strings.Contains(out, "\nkey\n") {
					t.Errorf("a hidden folder was listed:\n%s", out)
				}
				if !strings.Contains(out, "open") {
					t.Errorf("what is not hidden cannot be read:\n%s", out)
				}
			})
		}
	}
}

func TestGrantsByName(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	r := newRoom(t, Options{}).workspace()
	needLandlock(t, r)
	out := filepath.Join(r.home, "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(out, "old")
	if err := os.WriteFile(old, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.conf.Writable = append(r.conf.Writable, filepath.Join(out, "new"), old, filepath.Join(out, "deep/er/file"),
		filepath.Join(out, "dir"))
	text, code, w := r.run(`set -e; cd ` + out + `
umask 027; echo a > new; echo b >> new; cat new; chmod 640 new; rm new; echo c > new; mv new old; cat old; rm old; echo d > old
mkdir -p deep/er; echo e > deep/er/file; mkdir dir; echo f > dir/f; mkdir dir/g; mv dir/f dir/g/f; cat dir/g/f; ln -s x dir/l; rm -r dir; cp $PWD/old $OLDPWD/copied; ls -l old`)
	if code != 0 || len(w.Attempts) > 0 || !w.Touched || !strings.Contains(text, "-rw-r-----") {
		t.Errorf("exit %d, attempted %s\n%s", code, attempts(w), text)
	}
	text, _,
		w = r.run(`cd ` + out +
		`; echo x > newer; echo x > deep/other; mkdir deep/er/file2; rm -r deep; ln -s /etc/passwd new; rm new; mv old older`)
	want := []string{"create " + out + "/newer", "create " + out + "/deep/other", "create " + out + "/deep/er/file2"}
	got := strings.Split(attempts(w), "; ")
	for _, a := range want {
		if !slices.Contains(got, a) {
			t.Errorf("no %q in %q\n%s", a, got, text)
		}
	}
	for _, path := range []string{"newer", "older", "deep/other"} {
		if exists(filepath.Join(out, path)) {
			t.Errorf("%s was made\n%s", path, text)
		}
	}
}

// Devices are not files: disks would show what is hidden, terminals what the user types.
func TestDevicesCannotBeRead(t *testing.T) {
	t.Parallel()
	r := newRoom(t, Options{})
	needLandlock(t, r)
	found := 0
	for _, dir := range []string{"/dev", "/dev/pts", "/dev/input"} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			info, err := os.Stat(path)
			if err != nil || info.Mode()&os.ModeDevice == 0 || slices.Contains(devices(), path) ||
				strings.HasPrefix(e.Name(), "std") {
				continue
			}
			if found++; found > 30 {
				return
			}
			if out, code, _ := r.run("exec 5<" + path); code == 0 {
				t.Errorf("%s: %s", path, out)
			}
		}
	}
	if out, code, _ := r.run("head -c1 /dev/urandom | wc -c; head -c1 /dev/zero | wc -c; ls /dev >/dev/null; cat < " +
		"/dev/null"); code != 0 || out != "1\n1\n" {
		t.Errorf("%d %s", code, out)
	}
}

// Landlock can only add. Without mounts to cover a hidden file with, the folders that it lies in
// are readable by what was in them when the command began; doctor says so.
func TestNewBesideHidden(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"with namespaces": {}, "without": {NoNamespaces: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, o).workspace()
			needLandlock(t, r)
			r.file("other/plain", "x")
			r.conf.Hidden = []string{r.file("sub/deep/.env", "LEAKME")}
			spaces := r.box.Support(t.Context()).Namespaces
			for _, dir := range []string{".", "sub", "sub/deep", "other", "own"} {
				make := "mkdir -p " + dir + " && cd " + dir +
					" && echo made > z && printf '#!/bin/sh\necho ran' > p && chmod 755 p"
				out, code, w := r.run(make + " && cat z && ./p")
				if want := spaces || dir == "other"; want != (code == 0 && out == "made\nran\n") ||
					len(w.Attempts) > 0 {
					t.Errorf("in %s: exit %d, attempted %s\n%s", dir, code, attempts(w), out)
				}
				if out, code, _ = r.run("cd " + dir + " && cat z && ./p"); code != 0 || out != "made\nran\n" {
					t.Errorf("the next command in %s: exit %d\n%s", dir, code, out)
				}
			}
			r.conf.Hidden = nil // as sandbox.allow_read does
			if out, code, _ := r.run("echo new > n && cat n"); code != 0 || out != "new\n" {
				t.Errorf("with nothing hidden: exit %d\n%s", code, out)
			}
		})
	}
}

// A command has pseudo-terminals, and they are its own: it sees none of the user's, and nobody sees
// what it types into them.
func TestTerminalsOfItsOwn(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	r := newRoom(t, Options{}).workspace()
	needLandlock(t, r)
	if !r.box.report().Namespaces || !terminals() {
		t.Skip("no mount namespaces or no pseudo-terminals here")
	}
	out, code, w := r.run(python(`
import pty,time
pid,fd=pty.fork()
if pid==0: os.execvp('bash',['bash','-c','tty; stty size >/dev/null && echo sized; read x; echo got $x'])
os.write(fd,b'typed\n')
text=b''
while True:
    try: part=os.read(fd,1000)
    except OSError: break
    if not part: break
    text+=part
os.waitpid(pid,0)
print(text.decode(), sorted(os.listdir('/dev/pts')))
`))
	for _, want := range []string{"/dev/pts/0", "sized", "got typed", "['0', 'ptmx']"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q: exit %d, attempted %s\n%s", want, code, attempts(w), out)
		}
	}
}
