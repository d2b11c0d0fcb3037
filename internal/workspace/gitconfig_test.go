package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const ordinary = `[core]
	repositoryformatversion = 0
	filemode = true
	hooksPath = .mine ; keep it
[remote "origin"]
	url = git@example.com:a/b.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[remote "half"]
	url = ../half
[branch "main"]
	remote = origin
	merge = refs/heads/main
[branch "lost"]
	remote = gone
`

// What git does day by day to its config is let; what says what runs, or where git goes by itself, is not.
func TestHarmlessConfig(t *testing.T) {
	for _, c := range []struct {
		name, add string
		remove    string
		want      bool
	}{
		{name: "nothing", want: true},
		{name: "a name", add: "[user]\n\tname = A \"B\" C\n", want: true},
		{name: "a new branch", add: "[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n", want: true},
		{name: "a local one", add: "[branch \"x\"]\n\tremote = .\n\tmerge = refs/heads/main\n", want: true},
		{name: "a branch less", remove: "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
			want: true},
		{name: "a remote less", remove: "[remote \"origin\"]\n\turl = git@example.com:a/b.git\n" +
			"\tfetch = +refs/heads/*:refs/remotes/origin/*\n", want: true},
		{name: "another remote", add: "[remote \"fork\"]\n\turl = https://example.com/x\n" +
			"\tfetch = +refs/heads/*:refs/remotes/fork/*\n", want: true},
		{name: "what it fetches", add: "[remote \"half\"]\n\tfetch = +refs/heads/*:refs/remotes/half/*\n", want: true},
		{name: "pull", add: "[pull]\n\trebase = true\n", want: true},
		{name: "a comment", add: "# x\n", want: true},
		{name: "a section again", add: "[core]\n\tautocrlf = input\n", want: true},

		{name: "a pager", add: "[core]\n\tpager = ./evil\n"},
		{name: "a pager in capitals", add: "[CORE]\n\tPager = ./evil\n"},
		{name: "on the header's line", add: "[core] pager = ./evil\n"},
		{name: "an alias", add: "[alias]\n\tst = !x\n"},
		{name: "an include", add: "[include]\n\tpath = ../x\n"},
		{name: "hooks elsewhere", remove: "\thooksPath = .mine ; keep it\n"},
		{name: "a helper", add: "[credential]\n\thelper = !x\n"},
		{name: "another origin", add: "[remote \"origin\"]\n\turl = https://evil.example\n"},
		{name: "another address for pushes", add: "[remote \"origin\"]\n\tpushurl = https://evil.example\n"},
		{name: "another address", add: "[remote \"half\"]\n\turl = https://evil.example\n"},
		{name: "rewritten addresses", add: "[url \"https://evil.example/\"]\n\tinsteadOf = git@example.com:\n"},
		{name: "a remote that runs something", add: "[remote \"x\"]\n\turl = ext::sh -c x\n"},
		{name: "a remote with a program", add: "[remote \"x\"]\n\turl = /x\n\tuploadpack = ./evil\n"},
		{name: "a remote over branches", add: "[remote \"x\"]\n\turl = /x\n\tfetch = +refs/heads/*:refs/heads/*\n"},
		{name: "a remote that a branch follows", add: "[remote \"gone\"]\n\turl = https://evil.example\n"},
		{name: "a branch that follows another", add: "[branch \"main\"]\n\tremote = fork\n"},
		{name: "where pushes go", add: "[remote]\n\tpushDefault = fork\n"},
		{name: "main with no remote", remove: "\tremote = origin\n"},
		{name: "half a line", add: "[user]\n\tname = \"x\n"},
		{name: "what git does not read", add: "[user]\n\tname = \\x\n"},
		{name: "an old subsection", add: "[branch.x]\n\tremote = origin\n"},
		{name: "a value of two lines", add: "[user]\n\tname = x\\\ny\n"},
		{name: "a null", add: "[user]\n\tname = \x00\n"},
		{name: "a name of two lines", add: "[user]\n\tname = a\\nb\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := strings.Replace(ordinary, c.remove, "", 1) + c.add
			if got := HarmlessConfig([]byte(ordinary), []byte(is)); got != c.want {
				t.Errorf("harmless: %v\n%s", got, is)
			}
		})
	}
}

// What we read of a config is what git reads.
func FuzzParseConfig(f *testing.F) {
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("no git")
	}
	for _, text := range []string{ordinary, "[a]b=c", "[a \"b\\\"c\"]\nd", "[a]\nb = \" x \" y # z\n",
		"[a]\nb = x\\\ny\n",
		"[a]\r\nb = x\r\n", "[a]\nb = a\\tb\n", "[a]\nb c\n", "[a]\n b =\n", "[a]\nb = \"\"", "[a\t\"x\"]\nb=1"} {
		f.Add([]byte(text))
	}
	file := filepath.Join(f.TempDir(), "config")
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := parseConfig(text)
		if !ok {
			return
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "git", "config", "-z", "--no-includes", "--list", "-f",
			file).Output()
		if err != nil {
			return // git refuses it, and so does whatever it is asked for
		}
		want := config{}
		for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if entry == "" {
				continue
			}
			name, value, given := strings.Cut(entry, "\n")
			if !given {
				value = "true"
			}
			section, rest, _ := strings.Cut(name, ".")
			sub, last := "", rest
			if i := strings.LastIndexByte(rest, '.'); i >= 0 {
				sub, last = rest[:i], rest[i+1:]
			}
			key := configKey{section, sub, last}
			want[key] = append(want[key], value)
		}
		for key, values := range want {
			if !slices.Equal(values, got[key]) {
				t.Fatalf("%v: we read %q, git %q", key, got[key], values)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("we read %q, git %q", got, want)
		}
	})
}
