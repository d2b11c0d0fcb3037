package gitconfig

import (
	"bytes"
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
[branch "begun"]
	remote = origin
[branch "noted"]
	description = mine
[branch "signed"]
	remote = origin
	mergeOptions = --verify-signatures
[user]
	name = A
`

const mainSection = "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"

// What git itself writes day by day is let, as far as it does not say what runs or where git goes.
func TestHarmless(t *testing.T) {
	for _, c := range []struct {
		name, remove, by, add string
		want                  bool
	}{
		{name: "nothing", want: true},
		{name: "another name", remove: "[user]\n\tname = A\n", by: "[user]\n\tname = B \"C\"\n", want: true},
		{name: "an address", add: "[user]\n\temail = a@example.com\n", want: true},
		{name: "a new branch", add: "[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/y/z\n", want: true},
		{name: "its first step", add: "[branch \"x\"]\n\tremote = origin\n", want: true},
		{name: "its second step", add: "[branch \"begun\"]\n\tmerge = refs/heads/main\n", want: true},
		{name: "its third step", add: "[branch \"main\"]\n\trebase = true\n", want: true},
		{name: "a local one", add: "[branch \"x\"]\n\tremote = .\n\tmerge = refs/heads/main\n", want: true},
		{name: "a branch less", remove: mainSection, want: true},
		{name: "a note less", remove: "[branch \"noted\"]\n\tdescription = mine\n", want: true},
		{name: "another name of a branch", remove: mainSection,
			add: strings.Replace(mainSection, "main", "trunk", 1), want: true},
		{name: "a comment", add: "# x\n", want: true},
		{name: "an empty section", add: "[core]\n[branch \"x\"]\n", want: true},

		{name: "a pager", add: "[core]\n\tpager = ./evil\n"},
		{name: "a pager in capitals", add: "[CORE]\n\tPager = ./evil\n"},
		{name: "on the header's line", add: "[core] pager = ./evil\n"},
		{name: "behind a comment", add: "[core] # x\\\npager = ./evil\n"},
		{name: "a setting again", add: "[core]\n\tfilemode = true\n"},
		{name: "the subsection of no name", remove: "[core]", by: "[core \"\"]"},
		{name: "a mark in front of a line", remove: "[core]", by: "\n\xef\xbb\xbf[core]"},
		{name: "how git shows things", add: "[color]\n\tui = false\n"},
		{name: "pull", add: "[pull]\n\trebase = true\n"},
		{name: "prune", add: "[fetch]\n\tprune = true\n"},
		{name: "an alias", add: "[alias]\n\tst = !x\n"},
		{name: "an include", add: "[include]\n\tpath = ../x\n"},
		{name: "hooks elsewhere", remove: "\thooksPath = .mine ; keep it\n"},
		{name: "a remote", add: "[remote \"fork\"]\n\turl = https://example.com/x\n"},
		{name: "a remote less", remove: "[remote \"half\"]\n\turl = ../half\n"},
		{name: "what it fetches", add: "[remote \"half\"]\n\tfetch = +refs/heads/*:refs/remotes/half/*\n"},
		{name: "another origin", add: "[remote \"origin\"]\n\turl = https://evil.example\n"},
		{name: "a branch that follows another", add: "[branch \"main\"]\n\tremote = half\n"},
		{name: "a branch that follows another branch", remove: "merge = refs/heads/main",
			by: "merge = refs/heads/evil"},
		{name: "a branch that follows two", add: "[branch \"main\"]\n\tmerge = refs/heads/evil\n"},
		{name: "a branch that follows none", remove: "\tmerge = refs/heads/main\n"},
		{name: "a branch without a remote", remove: mainSection, by: "[branch \"main\"]\n\tmerge = refs/heads/main\n"},
		{name: "a new branch of another remote", add: "[branch \"x\"]\n\tremote = half\n\tmerge = refs/heads/x\n"},
		{name: "a new branch of no remote", add: "[branch \"x\"]\n\tremote = gone\n"},
		{name: "a new branch of an address", add: "[branch \"x\"]\n\tremote = https://evil.example\n"},
		{name: "a new branch of a remote in capitals", add: "[branch \"x\"]\n\tremote = Origin\n"},
		{name: "a new branch that is pushed elsewhere",
			add: "[branch \"x\"]\n\tremote = origin\n\tpushRemote = origin\n"},
		{name: "a new branch with options", add: "[branch \"x\"]\n\tremote = origin\n\tmergeOptions = -s ours\n"},
		{name: "a new branch that follows a tag", add: "[branch \"x\"]\n\tremote = origin\n\tmerge = refs/tags/x\n"},
		{name: "a new branch that follows more",
			add: "[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/*\n"},
		{name: "a new branch of no name", add: "[branch \"\"]\n\tremote = origin\n"},
		{name: "a branch with no value", add: "[branch \"x\"]\n\tremote\n"},
		{name: "a lost branch less", remove: "[branch \"lost\"]\n\tremote = gone\n"},
		{name: "a branch with options less",
			remove: "[branch \"signed\"]\n\tremote = origin\n\tmergeOptions = --verify-signatures\n"},
		{name: "all branches", add: "[branch]\n\tautoSetupMerge = always\n"},
		{name: "where pushes go", add: "[remote]\n\tpushDefault = fork\n"},
		{name: "half a line", add: "[user]\n\tname = \"x\n"},
		{name: "what git does not read", add: "[user]\n\tname = \\x\n"},
		{name: "a null", add: "[user]\n\tname = \x00\n"},
		{name: "a name of two lines", add: "[user]\n\tname = a\\nb\n"},
		{name: "a name with no value", add: "[user]\n\tname\n"},
		{name: "a key", add: "[user]\n\tsigningKey = x\n"},
		{name: "a name of a subsection", add: "[user \"x\"]\n\tname = x\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := strings.Replace(ordinary, c.remove, c.by, 1) + c.add
			if got := Harmless([]byte(ordinary), []byte(is), Beside{}); got != c.want {
				t.Errorf("harmless: %v\n%s", got, is)
			}
		})
	}
}

// Where a branch goes that says nothing is where a new one may go.
func TestHarmlessRemote(t *testing.T) {
	const branch = "[branch \"x\"]\n\tremote = NAME\n\tmerge = refs/heads/main\n"
	for _, c := range []struct {
		name, config, remote string
		want                 bool
	}{
		{"the only one", "[remote \"up\"]\nurl = x\n", "up", true},
		{"origin of two", "[remote \"up\"]\nurl = x\n[remote \"origin\"]\nurl = y\n", "origin", true},
		{"the other of two", "[remote \"up\"]\nurl = x\n[remote \"origin\"]\nurl = y\n", "up", false},
		{"one of two without origin", "[remote \"up\"]\nurl = x\n[remote \"b\"]\nurl = y\n", "up", false},
		{"in the old form", "[remote.up]\nurl = x\n", "up", true},
		{"in the old form, in capitals", "[remote.UP]\nurl = x\n", "UP", false},
		{"no address", "[remote \"up\"]\nprune = true\n", "up", false},
		{"an empty address", "[remote \"up\"]\nurl = x\nurl =\n", "up", false},
		{"an address with no value", "[remote \"up\"]\nurl\n", "up", false},
		{"none", "", "origin", false},
		{"none, and this repository", "", ".", true},
		{"a remote for this repository", "[remote \"origin\"]\nurl = x\n[remote \".\"]\nprune = true\n", "origin",
			false},
		{"and the repository", "[remote \"origin\"]\nurl = x\n[remote \".\"]\nprune = true\n", ".", false},
		{"more elsewhere", "[include]\npath = x\n[remote \"origin\"]\nurl = x\n", "origin", false},
		{"more under a condition", "[includeIf \"x\"]\npath = x\n[remote \"origin\"]\nurl = x\n", "origin", false},
		{"more for a work tree", "[extensions]\nworktreeConfig\n[remote \"origin\"]\nurl = x\n", "origin", false},
		{"pushed to what it follows", "[push]\ndefault = upstream\n[remote \"origin\"]\nurl = x\n", "origin", false},
		{"pushed to what it follows here", "[push]\ndefault = upstream\n[remote \"origin\"]\nurl = x\n", ".", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			with := c.config + strings.ReplaceAll(branch, "NAME", c.remote)
			if got := Harmless([]byte(c.config), []byte(with), Beside{}); got != c.want {
				t.Errorf("it comes: %v\n%s", got, with)
			}
			if got := Harmless([]byte(with), []byte(c.config), Beside{}); got != c.want {
				t.Errorf("it goes: %v\n%s", got, with)
			}
		})
	}
}

// What holds beside a repository's config counts for where git goes.
func TestHarmlessBeside(t *testing.T) {
	const one = "[remote \"up\"]\nurl = x\n"
	for _, c := range []struct {
		name, beside, config, remote string
		want                         bool
	}{
		{"nothing of it", "[user]\nname = A\n[alias]\nx = y\n", one, "up", true},
		{"the same remote", "[remote \"up\"]\nprune = true\n", one, "up", true},
		{"another remote", "[remote \"fork\"]\nprune = true\n", one, "up", false},
		{"another beside origin", "[remote \"fork\"]\nurl = y\n", "[remote \"origin\"]\nurl = x\n", "origin", true},
		{"an origin", "[remote \"origin\"]\nurl = y\n", one, "up", false},
		{"an origin, and that", "[remote \"origin\"]\nurl = y\n", one, "origin", false},
		{"another, and this repository", "[remote \"fork\"]\nprune = true\n", one, ".", true},
		{"a remote for this repository", "[remote \".\"]\nprune = true\n", "[remote \"origin\"]\nurl = x\n", ".",
			false},
		{"the branch", "[branch \"x\"]\nremote = fork\n", one, "up", false},
		{"no address", "[remote \"up\"]\nurl =\n", one, "up", false},
		{"where pushes go", "[remote]\npushDefault = fork\n", one, "up", true},
		{"pushed to what it follows", "[push]\ndefault = upstream\n", one, "up", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			entries, ok := Parse([]byte(c.beside))
			if !ok {
				t.Fatal("it cannot be read")
			}
			with := c.config + "[branch \"x\"]\nremote = " + c.remote + "\nmerge = refs/heads/main\n"
			if got := Harmless([]byte(c.config), []byte(with), Beside{Entries: entries}); got != c.want {
				t.Errorf("it comes: %v", got)
			}
			if got := Harmless([]byte(with), []byte(c.config), Beside{Entries: entries}); got != c.want {
				t.Errorf("it goes: %v", got)
			}
			if Harmless([]byte(c.config), []byte(with), Beside{Unsure: true}) {
				t.Error("it comes, though not all is known")
			}
			if !Harmless([]byte(c.config), []byte(c.config+"[user]\nname = B\n"), Beside{entries, true}) {
				t.Error("the identity is refused")
			}
		})
	}
}

// What we read of a config is what git reads.
func FuzzParse(f *testing.F) {
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("no git")
	}
	for _, text := range []string{ordinary, "[a]b=c", "[a \"b\\\"c\"]\nd", "[a]\nb = \" x \" y # z\n",
		"[a]\nb = x\\\ny\n", "[a]\nb = x\\\r\ny\n", "[a]\nb = x\\", "[a]\nb = x ; y \\\nc = d\n",
		"[a]\r\nb = x\r\n", "[a]\nb = x\ry\r", "[a]\nb = a\\tb\n", "[a]\nb c\n", "[a]\n b =\n", "[a]\nb = \"\"",
		"[a\t\"x\"]\nb=1", "[a \"\"]\nb = 1\n[a]\nb = 2\n", "[a.]\nb = 1\n", "[a.B.c]\nD = 1\n",
		"[a.B \"C.d\"]\ne = 1\n",
		"[.a]\nb = 1\n", "[]\nb = 1\n", "[ \"\"]\nb = 1\n", "[ \"x\"]b=1", "[.]b=1",
		"[remote \"Origin\"]\nurl = x\n[Remote \"origin\"]\nURL = y\n[remote.Origin]\nurl = z\n",
		"\xef\xbb\xbf[a]\nb = c\n", "\xef\xbb[a]\nb = c\n", "[a]\nb = \"\" x\n", "[a]\nb = \"x\ny\"\n",
		"[a]\nb\n[a]\nb =\n",
		"[a \"b\\\nc\"]\nd = e\n", "[a] [b] c = d # e\nf = g", "[a]\nb = c # d\\\ne = f\n", "[a]\nb = \"c # d\" ; e\n",
		"[a]\nb = c\td \t\n", "[a]\n# \x00\n", "[a]\nb = c\x00d\n", "[a\n\"b\"]\nc = d\n", "b = c\n",
		"[a]\nb-1 = c\n"} {
		f.Add([]byte(text))
	}
	file := filepath.Join(f.TempDir(), "config")
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := Parse(text)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "git", "config", "-z", "--no-includes", "--list", "-f",
			file).Output()
		switch {
		case err != nil && ok:
			t.Fatalf("git refuses it, and we read %v", got)
		case !ok && err == nil && bytes.IndexByte(text, 0) < 0:
			t.Fatalf("git reads %q, and we refuse it", out)
		case !ok || err != nil:
			return
		}
		var want []Entry
		for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if entry != "" {
				key, value, given := strings.Cut(entry, "\n")
				want = append(want, Entry{key, value, given})
			}
		}
		if !slices.EqualFunc(got, want, same) {
			t.Fatalf("we read %v, git %v", got, want)
		}
	})
}

// same: versions of git differ in how they read a blank within a value.
func same(a, b Entry) bool {
	blank := strings.NewReplacer("\t", " ", "\r", " ")
	return a.Key == b.Key && a.Given == b.Given && blank.Replace(a.Value) == blank.Replace(b.Value)
}
