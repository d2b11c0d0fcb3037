package command

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// cage is a bash in namespaces of its own: it can write its scratch folder and nothing else,
// reaches nobody, and sees no other processes. Each command runs in a fresh shell.
type cage struct {
	scratch string
	in      io.WriteCloser
	out     *bufio.Reader
}

const cageScript = `
set -e
mount --bind "$1" "$1"; mount --bind "$2" "$2"
mount -o remount,bind,ro / ; mount -o remount,bind,rw "$1"; mount -o remount,bind,rw "$2"
mount -t proc proc /proc
if touch "$3" 2>/dev/null; then echo open; exit 1; fi
cd "$1"
echo ready
while IFS= read -r -d '' c; do
	( exec </dev/null >/dev/null 2>&1; cd "$1"; timeout -s KILL 2 bash -c -- "$c" ) || true
	echo done
done
`

func newCage(t testing.TB) *cage {
	t.Helper()
	scratch, tmp, outside := t.TempDir(), t.TempDir(), t.TempDir()
	args := []string{"--mount", "--net", "--pid", "--ipc", "--fork", "--kill-child", "bash", "-c", cageScript, "bash",
		scratch, tmp, filepath.Join(outside, "x")}
	if os.Getuid() != 0 {
		args = append([]string{"--user", "--map-root-user"}, args...)
	}
	fill(t, scratch)
	cmd := exec.CommandContext(t.Context(), "unshare", args...)
	cmd.Env = append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + scratch, "TMPDIR=" + tmp, "LANG=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1", "TAR_RSH=" + filepath.Join(scratch, "rsh"), "RSH=" + filepath.Join(scratch, "rsh")},
		GitEnviron()...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("no namespaces: %v", err)
	}
	t.Cleanup(func() {
		_ = in.Close() // the end of the input ends it
		_ = cmd.Wait() // killed or not, it is gone
	})
	c := &cage{scratch: scratch, in: in, out: bufio.NewReader(out)}
	if line, err := c.out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Skipf("a namespace with read-only mounts cannot be made here (%q, %v)", line, err)
	}
	return c
}

// fill makes the folder: files, names that look like options, and a small repository.
func fill(t testing.TB, dir string) {
	t.Helper()
	files := map[string]string{
		"README.md": "# Demo\nTODO fix\nhello\n", "notes.txt": "alpha\nbeta\n", "one.txt": "touch PWNED\n",
		"main.go": "package main\n\nfunc main() {}\n", "data.csv": "a,b\n1,2\n",
		"data.json": `{"items":[{"n":1}]}`, "src/lib/util.py": "# TODO\n", "src/app.js": "1\n", "docs/guide.md": "x\n",
		"tools/evil.sh": "#!/bin/sh\ntouch PWNED\n", "tools/evil.sed": "w PWNED\n",
		"tools/evil.awk": "BEGIN{system(\"touch PWNED\")}\n", "-oPWNED": "", "-i": "", "-delete": "",
		"--output=PWNED": "", "--pre=sh": "", "-exec": "", "a b": "x\n", "x": "1\n", "f": "b\na\n", ".env": "K=1\n",
		"p": "--- a/README.md\n+++ b/README.md\n@@ -1,3 +1,3 @@\n # Demo\n TODO fix\n-hello\n+PWNED\n", "@x": "x\n",
		"opts": "--plugin ./lib.so\n", "@opts": "\n", "host:x": "x\n", "rsh": "#!/bin/sh\ntouch PWNED\n",
		"lib.c": "#include <fcntl.h>\n#include <unistd.h>\n__attribute__((constructor)) static void f(void){int " +
			"d=open(\"PWNED\",O_CREAT|O_WRONLY,0644);if(d>=0)close(d);}\n",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil { //nolint:gosec // some are meant to be run
			t.Fatal(err)
		}
	}
	script := "git init -q -b main . && git config user.name t && git config user.email t@t && git add README.md " +
		"main.go src && git commit -qm one && git branch feature && git tag v1 && tar cf archive.tar README.md && " +
		"gzip -kc README.md > file.gz"
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	// Each of these may be missing; then what is about it is not tried.
	cmd.Args[2] += "; xz -kc README.md > a.xz; bzip2 -kc README.md > b.bz2; zstd -qc README.md > c.zst; gcc -shared " +
		"-fPIC -w -o lib.so lib.c && echo '--plugin ./lib.so' > x; touch -d 2001-01-01 main.go; true"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("no git repository can be made here: %v %s", err, out)
	}
}

func (c *cage) run(t testing.TB, command string) {
	t.Helper()
	if _, err := io.WriteString(c.in, command+"\x00"); err != nil {
		t.Fatal(err)
	}
	if line, err := c.out.ReadString('\n'); err != nil || line != "done\n" {
		t.Fatalf("the cage says %q, %v", line, err)
	}
}

// state is all that the scratch folder holds, in one line for each file.
func (c *cage) state(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(c.scratch, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(c.scratch, path)
		if err != nil {
			return err
		}
		switch {
		case name == ".config" || strings.HasPrefix(name, ".config/") || strings.HasPrefix(name, ".cache"):
			return nil // go keeps its counters there, whatever it is asked
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%s %v %x %v\n", name, info.Mode(), sha256.Sum256(data), info.ModTime())
		default:
			fmt.Fprintf(&b, "%s %v\n", name, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestReadOnlyCommandsChangeNothing runs what Judge calls read-only, mixed out of harmless
// and harmful commands, in a real bash.
func TestReadOnlyCommandsChangeNothing(t *testing.T) {
	t.Parallel()
	c := newCage(t)
	before := c.state(t)
	c.run(t, "touch PWNED")
	if c.state(t) == before {
		t.Fatal("a command that writes leaves no trace: this proves nothing")
	}
	c.run(t, "rm PWNED")
	before = c.state(t)
	for _, trick := range []struct{ needs, command, undo string }{
		{"xz", "xz -t -d a.xz", "xz a"},
		{"git", "env -u GIT_OPTIONAL_LOCKS git status", ""},
		{"nm", "nm -t @x lib.so; nm @x lib.so", "rm PWNED"},
		{"tar", "tar tfC host:x .", "rm PWNED"},
	} {
		if _, err := exec.LookPath(trick.needs); err != nil {
			continue
		}
		c.run(t, trick.command)
		if after := c.state(t); after == before {
			t.Logf("%q leaves no trace here: mixing it proves nothing", trick.command)
		}
		c.run(t, trick.undo)
		before = c.state(t)
	}
	m := newMixer(t, 42)
	for ran := 0; ran < 200; {
		command := m.command()
		if waits(command) || !Judge(command, Options{SafeGit: true}).ReadOnly {
			continue
		}
		ran++
		c.run(t, command)
		if after := c.state(t); after != before {
			t.Fatalf("%q is called read-only and changed something:\n%s", command, differences(before, after))
		}
	}
}

// waits: it may wait until it is killed, which only costs time.
func waits(command string) bool {
	return strings.Contains(command, "tail") || strings.Contains(command, "sleep") ||
		strings.Contains(command, "while") || strings.Contains(command, "/dev/zero") || strings.Contains(command, "yes")
}

func differences(before, after string) string {
	var out []string
	for line := range strings.SplitSeq(after, "\n") {
		if !strings.Contains(before, line+"\n") && line != "" {
			out = append(out, "+ "+line)
		}
	}
	for line := range strings.SplitSeq(before, "\n") {
		if !strings.Contains(after, line+"\n") && line != "" {
			out = append(out, "- "+line)
		}
	}
	return strings.Join(out, "\n")
}

// TestHarmlessCorpusChangesNothing runs each recorded harmless command.
func TestHarmlessCorpusChangesNothing(t *testing.T) {
	t.Parallel()
	c := newCage(t)
	before := c.state(t)
	for _, row := range tsv(t, "benign.tsv") {
		command := command(t, row)
		if !Judge(command, Options{SafeGit: true}).ReadOnly {
			continue
		}
		c.run(t, command)
		if after := c.state(t); after != before {
			t.Fatalf("%s: %q changed something:\n%s", row["id"], command, differences(before, after))
		}
	}
}

func FuzzJudgeAgainstBash(f *testing.F) {
	for _, row := range tsv(f, "benign.tsv") {
		f.Add(command(f, row))
	}
	for _, list := range classes() {
		for _, c := range list {
			f.Add(c)
		}
	}
	for _, c := range append(shellItself(), besideThem()...) {
		f.Add(c)
	}
	for _, row := range tsv(f, "readonly.tsv") {
		f.Add(command(f, row))
	}
	c := newCage(f)
	before := c.state(f)
	f.Fuzz(func(t *testing.T, command string) {
		if waits(command) || !Judge(command, Options{SafeGit: true}).ReadOnly {
			return
		}
		c.run(t, command)
		if after := c.state(t); after != before {
			t.Fatalf("%q is called read-only and changed something:\n%s", command, differences(before, after))
		}
	})
}
