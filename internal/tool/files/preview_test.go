package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/tool"
)

// previewOf is what a person would be shown of a call by an agent that has read everything.
func previewOf(t *testing.T, dir, name, input string) string {
	t.Helper()
	env := tool.Env{Cwd: dir, Seen: func(path string) (string, bool) {
		b, err := os.ReadFile(path)
		return tool.Hash(b), err == nil
	}}
	for _, r := range New(Options{}) {
		if r.Spec().Name == name {
			p, err := r.Prepare(env, input)
			if err != nil {
				t.Fatal(err)
			}
			v, ok := p.(tool.Previewer)
			if !ok {
				t.Fatalf("%s cannot show what it would do", name)
			}
			text, _ := v.Preview(env)
			return text
		}
	}
	t.Fatalf("no tool %s", name)
	return ""
}

func TestPreview(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"a.txt": "one\ntwo\nthree\nfour\nfive\nsix\nseven\n", "crlf": "a\r\nb\r\n", "bin": "\x00\x01\x02",
		"open": "a\nb",
		"long": strings.Repeat("x", 5000) + "1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a.txt", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, tool, input, want string }{
		{"edit", "Edit", `{"file_path":"a.txt","old_string":"four","new_string":"4\n4b"}`,
			"a.txt: changes, 2 lines added, 1 removed\n--- a.txt\n+++ a.txt\n@@ -1,7 +1,8 @@\n one\n two\n " +
				"three\n-four\n+4\n+4b\n five\n six\n seven\n"},
		{"through a link", "Edit", `{"file_path":"link","old_string":"one\n","new_string":""}`,
			"link (a link to a.txt): changes, 0 lines added, 1 removed\n--- link (a link to a.txt)\n+++ link (a link " +
				"to a.txt)\n@@ -1,4 +1,3 @@\n-one\n two\n three\n four\n"},
		{"new", "Write", `{"file_path":"new/b.txt","content":"x\ny"}`,
			"new/b.txt: would be a new file, 2 lines added, 0 removed\n--- /dev/null\n+++ new/b.txt\n@@ -0,0 +1,2 " +
				"@@\n+x\n+y\n\\ No newline at the end\n"},
		{"empty", "Write", `{"file_path":"new","content":""}`,
			"new: would be a new file, 0 lines added, 0 removed\n--- /dev/null\n+++ new\n"},
		{"same", "Write", `{"file_path":"open","content":"a\nb"}`, "open would hold what it holds now."},
		{"crlf", "Edit", `{"file_path":"crlf","old_string":"b","new_string":"c"}`,
			"crlf: changes, 1 line added, 1 removed\n--- crlf\n+++ crlf\n@@ -1,2 +1,2 @@\n a\\r\n-b\\r\n+c\\r\n"},
		{"hidden", "Write", `{"file_path":"open","content":"a\nb\u202e\u200b \u001b[2J\u00a0"}`,
			"open: changes, 1 line added, 1 removed\n--- open\n+++ open\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at " +
				"the end\n+b\\u202e\\u200b \\u001b[2J\\u00a0\n\\ No newline at the end\n"},
		{"binary", "Write", `{"file_path":"bin","content":"x\n"}`,
			"bin: changes (it holds 3 bytes that are no text, and would lose them), 1 line added, 0 removed\n--- " +
				"bin\n+++ bin\n@@ -0,0 +1 @@\n+x\n"},
		{"not found", "Edit", `{"file_path":"a.txt","old_string":"eight","new_string":"x"}`,
			"a.txt was not changed: old_string was not found."},
		{"not there", "Edit", `{"file_path":"b.txt","old_string":"eight","new_string":"x"}`,
			"b.txt does not exist. Did you mean a.txt?"},
		{"a hostile name", "Write", `{"file_path":"x\u202eq","content":""}`,
			"x\\u202eq: would be a new file, 0 lines added, 0 removed\n--- /dev/null\n+++ x\\u202eq\n"},
	} {
		if got := previewOf(t, dir, c.tool, c.input); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, got, c.want)
		}
	}
	// The cut of a long line does not hide where it changes.
	got := previewOf(t, dir, "Edit", `{"file_path":"long","old_string":"x1","new_string":"x2"}`)
	if !strings.Contains(got, "-(4960 bytes the same) …") || !strings.Contains(got, "x1\n+(") ||
		!strings.HasSuffix(got, "x2\n") {
		t.Errorf("a long line:\n%s", got)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 6 {
		t.Errorf("a preview changed the folder: %v, %v", entries, err)
	}
}

func TestPreviewIsBounded(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var big strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&big, "line %d\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "big"), []byte(big.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	// One line of many is shown as one.
	got := previewOf(t, dir, "Edit", `{"file_path":"big","old_string":"line 150000\n","new_string":"here\n"}`)
	if want := "@@ -149998,7 +149998,7 @@\n line 149997\n line 149998\n line 149999\n-line 150000\n+here\n line " +
		"150001\n"; !strings.Contains(got, want) {
		t.Errorf("got:\n%s", got)
	}
	got = previewOf(t, dir, "Edit", `{"file_path":"big","old_string":"line","new_string":"LINE","replace_all":true}`)
	if !strings.Contains(got, "are too much to compare), 200000 lines added, 0 removed") ||
		!strings.HasSuffix(got, " lines more, not shown; `troupe log --json` has all of the call\n") ||
		len(got) > 65<<10 {
		t.Errorf("%d bytes: %.300s", len(got), got)
	}
}
