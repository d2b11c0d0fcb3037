package memory

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

func made(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func real(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestFolders: a memory lies where other programs have it, nearest first, and behind no link.
func TestFolders(t *testing.T) {
	t.Parallel()
	dir := real(t)
	p := Places{Home: filepath.Join(dir, "home"), Project: []string{filepath.Join(dir, "p"),
		filepath.Join(dir, "p/sub")},
		Data: filepath.Join(dir, "data"), Tree: "abc"}
	made(t, filepath.Join(dir, "p/sub/.claude/agent-memory/near/MEMORY.md"), "x")
	made(t, filepath.Join(dir, "p/.claude/agent-memory-local/here/MEMORY.md"), "x")
	made(t, filepath.Join(dir, "out/x"), "x")
	for _, link := range []string{"p/.claude/agent-memory/linked", "home/.claude"} {
		link = filepath.Join(dir, link)
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dir, "out"), link); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		scope      troupe.MemoryScope
		name, want string
		also       string
	}{
		{scope: troupe.MemoryProject, name: "near", want: "p/sub/.claude/agent-memory/near"},
		{scope: troupe.MemoryProject, name: "far", want: "p/.claude/agent-memory/far"},
		{scope: troupe.MemoryProject, name: "plug:in", want: "p/.claude/agent-memory/plug-in"},
		{scope: troupe.MemoryProject, name: "linked"},
		{scope: troupe.MemoryUser, name: "mine"}, // ~/.claude is a link
		{scope: troupe.MemoryLocal, name: "here", want: "data/abc/here", also: "p/.claude/agent-memory-local/here"},
		{scope: troupe.MemoryProject, name: ".."},
		{scope: troupe.MemoryProject, name: "../other"},
		{scope: troupe.MemoryProject, name: "a/b"},
		{scope: troupe.MemoryProject, name: ".hidden"},
		{scope: troupe.MemoryProject, name: "a\nb"},
		{scope: "other", name: "a"},
	} {
		m, err := p.Of(c.scope, c.name)
		if c.want == "" {
			if err == nil {
				t.Errorf("%s of %q is %+v", c.scope, c.name, m)
			}
			continue
		}
		if err != nil || m.Folder != filepath.Join(dir, c.want) ||
			c.also != "" && m.Also != filepath.Join(dir, c.also) {
			t.Errorf("%s of %q is %+v, %v", c.scope, c.name, m, err)
		}
	}
}

// TestHead: the beginning is told, and what is missing; a file behind a link is not.
func TestHead(t *testing.T) {
	t.Parallel()
	dir := real(t)
	for name, c := range map[string]struct{ text, want, not string }{
		"short":  {"\xef\xbb\xbfa\r\nb\n", "a\nb", "["},
		"lines":  {strings.Repeat("line\n", 200) + "the last\n", "201 lines", "the last"},
		"bytes":  {strings.Repeat(strings.Repeat("x", 1000)+"\n", 30) + "the last\n", "31 lines", "the last"},
		"oneish": {strings.Repeat("x", headBytes) + "é the last", "1 lines", "the last"},
	} {
		made(t, filepath.Join(dir, name, troupe.MemoryFile), c.text)
		text, _, err := Head(filepath.Join(dir, name))
		if err != nil || !strings.Contains(text, c.want) || strings.Contains(text, c.not) || len(text) > headBytes+300 {
			t.Errorf("%s: %.80q…, %v", name, text, err)
		}
	}
	if text, _, err := Head(filepath.Join(dir, "none")); text != "" || err != nil {
		t.Errorf("none: %q, %v", text, err)
	}
	made(t, filepath.Join(dir, "secret"), "secret")
	made(t, filepath.Join(dir, "real", troupe.MemoryFile), "secret")
	made(t, filepath.Join(dir, "link", "x"), "x")
	for from, to := range map[string]string{"link/" + troupe.MemoryFile: "../secret", "behind": "real"} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"link", "behind"} {
		if text, _, err := Head(filepath.Join(dir, name)); text != "" || err == nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// TestCheck: a memory is bounded, is text, and keeps no credential.
func TestCheck(t *testing.T) {
	t.Parallel()
	dir := real(t)
	secret := func(text string) bool { return strings.Contains(text, "key") }
	file := filepath.Join(dir, troupe.MemoryFile)
	for text, want := range map[string]string{
		"fine": "", "a key": "credential", "a\x00b": "text alone", strings.Repeat("x", maxFile+1): "at most 64",
	} {
		err := Check(dir, file, []byte(text), secret)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	for i := range maxAll/maxFile + 1 {
		made(t, filepath.Join(dir, "more", strings.Repeat("x", i+1)), strings.Repeat("x", maxFile))
	}
	if err := Check(dir, file, []byte("fine"), secret); err == nil {
		t.Error("there is no bound on all files")
	}
	full := filepath.Join(dir, "more")
	if err := os.Remove(filepath.Join(full, "xx")); err != nil { // now it has as much as it may
		t.Fatal(err)
	}
	if err := Write(full, "x", strings.Repeat("z", maxFile), secret); err != nil {
		t.Errorf("a file cannot be written anew: %v", err)
	}
	if err := Write(dir, "../x", "fine", secret); err == nil {
		t.Error("a file outside was written")
	}
	if err := Forget(dir, "../x"); err == nil {
		t.Error("a file outside was forgotten")
	}
}

// TestWriteIsOneStep: whoever reads a file of a memory while it is written reads the old text or the new one, whole.
func TestWriteIsOneStep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harmless := func(string) bool { return false }
	if err := Write(dir, troupe.MemoryFile, "old", harmless); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, troupe.MemoryFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Write(dir, troupe.MemoryFile, "new", harmless); err != nil {
		t.Fatal(err)
	}
	if was, err := io.ReadAll(f); err != nil || string(was) != "old" {
		t.Errorf("whoever had begun to read finds %q: %v", was, err)
	}
	if now, err := Text(dir, troupe.MemoryFile); err != nil || now != "new" {
		t.Errorf("it holds %q: %v", now, err)
	}
	if names, err := Files(dir); err != nil || len(names) != 1 {
		t.Errorf("there are %q: %v", names, err)
	}
}
