package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/gate/reader"
)

// matchCommand notes what an allow rule covers of a command.
func (c *call) matchCommand(r *Rule, layer int) {
	m := &c.command
	switch r.kind {
	case kindTool:
		if r.allowsTool(c.facts) {
			m.bare.take(r, layer)
		}
		if r.tool == toolEdit || r.tool == toolWrite {
			c.coverWrites(r, layer)
		}
	case kindPath:
		if r.tool == toolEdit || r.tool == toolWrite {
			c.coverWrites(r, layer)
		}
	case kindCommand:
		if r.tool != c.tool || m.exact.found {
			return
		}
		if r.words.exact() && r.words.lits[0] == m.text {
			m.exact.take(r, layer)
			return
		}
		for i := range c.take().parts {
			if p := &m.parts[i]; !p.by.found && r.coversPart(c, p) {
				p.by.take(r, layer)
			}
		}
	default:
	}
}

func (c *call) coverWrites(r *Rule, layer int) {
	if !strings.Contains(c.command.text, ">") {
		return
	}
	m := c.take()
	for i := range m.parts {
		for j := range m.parts[i].writes {
			t := &m.parts[i].writes[j]
			if t.name != "" && !t.by.found && r.coversFile(c, t.name, t.guards) {
				t.by.take(r, layer)
			}
		}
	}
}

// coversPart reports whether an allow rule for commands covers one part of this one.
func (r *Rule) coversPart(c *call, p *part) bool {
	if len(p.Words) == 0 || p.Via != "" && !p.Words[0].Known {
		return false
	}
	w := &r.words
	if !w.exact() && !w.keepsToPaths(p) {
		return false
	}
	if w.exact() {
		text := w.lits[0]
		if text == p.Text || text == p.Whole {
			return safeAssigns(p.Assigns)
		}
		return false
	}
	text, named := p.Text, false
	switch {
	case safeAssigns(p.Assigns) && w.match(p.Text):
	case safeAssigns(p.Assigns) && len(p.Wrappers) > 0 && w.match(p.Whole):
		// A wrapper runs anything: the rule has to name what.
		text, named = p.Whole, true
	case len(p.Assigns) > 0 && c.single() && w.match(strings.TrimSpace(c.command.text)):
		// The rule begins with the variables that are set.
		text, named = strings.TrimSpace(c.command.text), true
	default:
		return false
	}
	if at := strings.LastIndex(text, p.Text); named && (at < 0 || len(w.lits[0]) <= at) {
		return false
	}
	return r.coversWords(c, p)
}

// single: the command is one simple command and nothing else.
func (c *call) single() bool {
	m := c.take()
	return len(m.parts) == 1 && len(m.parts[0].Redirects) == 0 && len(m.unclear) == 0
}

// coversWords holds a rule with a wildcard to what it says. It leaves open what a command is
// used on, and not what it is used for: a rule that begins with the name of a command that
// reads covers its reading, and none covers what only runs other commands.
func (r *Rule) coversWords(c *call, p *part) bool {
	first := p.Words[0]
	if !first.Known || first.Text == "" {
		return false
	}
	head := strings.Fields(r.words.lits[0])
	if len(head) == 0 {
		return r.words.coversName(p.Text, first.Text)
	}
	if strings.Contains(first.Text, "..") && !strings.HasPrefix(r.words.lits[0], first.Text) && climbs(first.Text) {
		return false
	}
	name := path.Base(first.Text)
	switch {
	case changesShell(name):
		return false
	case startsOthers(name):
		// "sudo -u x" says as little as "sudo".
		return slices.ContainsFunc(head[1:], func(w string) bool { return w[0] != '-' && !strings.Contains(w, "=") }) && c.namesStarted(r, p)
	case name == "git":
		return c.coversGit(head, p)
	case isReader(name) && !slices.ContainsFunc(head[1:], writingWord):
		return c.isFree(p)
	default:
		return true
	}
}

// namesStarted: the last word that the rule spells out is not an option's value, but there is
// no telling for every program; so it has to be one that the command holds as a whole word
// before any that begins with a dash.
func (c *call) namesStarted(r *Rule, p *part) bool {
	head := strings.Fields(r.words.lits[0])
	for i, w := range p.Words {
		if i == 0 {
			continue
		}
		if !w.Known {
			return false
		}
		if strings.HasPrefix(w.Text, "-") || strings.Contains(w.Text, "=") {
			if i >= len(head) {
				return false
			}
			continue
		}
		return i < len(head)
	}
	return false
}

// climbs: a path with a .. that is not at its beginning leads away from what it begins with.
func climbs(name string) bool {
	segs := strings.Split(name, "/")
	return slices.Contains(segs, "..")
}

// coversGit: git's own options, before its subcommand, can have it run anything, and so can a
// few behind it; and a folder that the command only comes to may hold a repository whose
// settings do.
func (c *call) coversGit(head []string, p *part) bool {
	if p.Moved {
		return c.isFree(p)
	}
	own := make([]reader.Word, 0, len(head))
	for _, w := range head[1:] {
		own = append(own, reader.Word{Text: w, Known: true})
	}
	if reader.GitRuns(withoutMessages(p.Words[1:])) && !reader.GitRuns(own) {
		return false // it runs a program of the caller's choice, or writes a file, which the rule does not say
	}
	sub := ""
	for i, w := range p.Words[1:] {
		if i+1 < len(head) && w.Known && head[i+1] == w.Text {
			if sub == "" && !strings.HasPrefix(w.Text, "-") {
				sub = w.Text
			}
			continue // the rule says so
		}
		if !w.Known && (sub == "" || !strings.HasPrefix(w.Text, "\"")) && sub == "" {
			return false
		}
		if sub == "" {
			if strings.HasPrefix(w.Text, "-") && w.Text != "--no-pager" && w.Text != "--no-optional-locks" {
				return false
			}
			if !strings.HasPrefix(w.Text, "-") {
				sub = w.Text
			}
		}
	}
	if len(head) > 1 && gitReads(sub) && !slices.ContainsFunc(head[2:], func(w string) bool { return strings.HasPrefix(w, "-") }) {
		return c.isFree(p)
	}
	return true
}

// withoutMessages leaves out what is only known when it runs and is the value of -m, where that has one:
// git takes the next word for it, whatever it is.
func withoutMessages(args []reader.Word) []reader.Word {
	if len(args) == 0 || !slices.Contains([]string{"commit", "tag", "merge", "stash", "notes"}, args[0].Text) {
		return args
	}
	var out []reader.Word
	for i, w := range args {
		if i > 0 && !w.Known && strings.HasPrefix(w.Text, `"`) && args[i-1].Known && takesMessage(args[i-1].Text) {
			continue
		}
		out = append(out, w)
	}
	return out
}

// takesMessage: -m, alone or as the last of several letters, or --message.
func takesMessage(option string) bool {
	if option == "--message" {
		return true
	}
	letters, ok := strings.CutPrefix(option, "-")
	return ok && strings.HasSuffix(letters, "m") && strings.Trim(letters, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// gitReads: subcommands that are used for reading, though some of their options write.
func gitReads(sub string) bool {
	switch sub {
	case "annotate", "blame", "branch", "cat-file", "count-objects", "describe", "diff", "diff-files", "diff-index", "diff-tree",
		"for-each-ref", "grep", "log", "ls-files", "ls-tree", "merge-base", "name-rev", "range-diff", "reflog", "remote",
		"rev-list", "rev-parse", "shortlog", "show", "show-branch", "show-ref", "status", "tag", "var", "version", "whatchanged":
		return true
	}
	return false
}

// isReader: commands that are used for reading, though some of their options write or run.
func isReader(name string) bool {
	switch name {
	case "[", "ag", "awk", "b2sum", "base32", "base64", "basename", "cal", "cat", "cksum", "cmp", "column", "comm", "cut", "date", "df",
		"diff", "dirname", "du", "echo", "egrep", "expand", "expr", "fd", "fdfind", "fgrep", "file", "find", "fmt", "fold", "free",
		"gawk", "grep", "groups", "head", "hexdump", "hostname", "iconv", "id", "join", "jq", "less", "ls", "lsof", "man", "mawk", "md5sum",
		"more", "nawk", "nl", "nm", "nproc", "objdump", "od", "paste", "pr", "printf", "ps", "pwd", "readelf", "readlink",
		"realpath", "rev", "rg", "sed", "seq", "sha1sum", "sha256sum", "sha512sum", "size", "sleep", "sort", "stat", "strings", "sum",
		"tac", "tail", "test", "tr", "tree", "true", "type", "tty", "uname", "unexpand", "uniq", "uptime", "wc", "where", "which",
		"who", "whoami", "xxd", "yes", "zcat", "zgrep":
		return true
	}
	return false
}

// writingWord: a rule that spells such a word out means the writing use of a reader.
func writingWord(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	switch name {
	case "-i", "--in-place", "-o", "--output", "-delete", "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--pre":
		return true
	}
	return false
}

// startsOthers: commands that do nothing but run another one.
func startsOthers(name string) bool {
	switch name {
	case "busybox", "capsh", "chroot", "chrt", "choom", "command", "builtin", "doas", "env", "exec", "firejail", "flock", "ionice",
		"ltrace", "nice", "nohup", "nsenter", "parallel", "pkexec", "prlimit", "runuser", "script", "setarch", "setpriv", "setsid",
		"stdbuf", "strace", "su", "sudo", "systemd-run", "taskset", "time", "timeout", "toybox", "unbuffer", "unshare", "watch", "xargs":
		return true
	}
	return false
}

// changesShell: builtins after which the same words may mean another program, so that leave
// to use them freely would be leave for anything.
func changesShell(name string) bool {
	switch name {
	case ".", "alias", "bind", "complete", "declare", "enable", "eval", "exec", "export", "fc", "getopts", "hash", "history", "let", "local",
		"mapfile", "popd", "pushd", "read", "readarray", "readonly", "set", "shopt", "source", "trap", "typeset", "unalias", "unset":
		return true
	}
	return false
}

func safeAssigns(assigns []reader.Assign) bool {
	return !slices.ContainsFunc(assigns, func(a reader.Assign) bool { return !safeVariable(a) })
}

// safeVariable: it changes how a program writes or builds, and not what it runs, loads or
// talks to.
func safeVariable(a reader.Assign) bool {
	if !a.Value.Known {
		return false
	}
	v := a.Value.Text
	switch a.Name {
	case "CGO_ENABLED", "CI", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "DO_NOT_TRACK", "FORCE_COLOR", "GIT_OPTIONAL_LOCKS",
		"GIT_TERMINAL_PROMPT", "GO111MODULE", "GOARCH", "GOOS", "LINES", "NODE_ENV", "NO_COLOR", "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
		"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "RUST_BACKTRACE", "RUST_LOG", "TERM",
		"LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME":
		return !strings.Contains(v, "/")
	case "TZ":
		return !strings.HasPrefix(v, "/") && !strings.HasPrefix(v, ":") && !strings.Contains(v, "..")
	case "GIT_PAGER", "PAGER", "MANPAGER":
		return v == "cat" || v == ""
	}
	return false
}

// ownVariable: a variable of the command's own, that no program it runs has heard of.
func ownVariable(a reader.Assign) bool {
	if a.Name == "" || strings.HasSuffix(a.Name, "_proxy") {
		return false
	}
	return !strings.ContainsFunc(a.Name, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}
