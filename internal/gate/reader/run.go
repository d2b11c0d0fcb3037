package reader

import (
	"slices"
	"strings"
)

// run judges one command by its name.
func (j *judge) run(name string, args []arg, p *Part) string {
	if versionOnly(name, args) {
		return ""
	}
	switch name {
	case "git":
		return j.git(args, p)
	case "find", "gfind":
		return findFiles(j, args)
	case "xargs":
		return feed(j, args)
	case "sed", "gsed":
		return sed(j, name, args)
	case "awk", "gawk", "mawk", "nawk", "original-awk":
		return awk(j, name, args)
	case "tar", "gtar", "bsdtar":
		return tarOptions(j, args, p)
	case "xxd":
		return hexDump(j, args)
	case "jq":
		return query(j, args, p)
	case "go":
		return golang(j, args)
	case "gofmt":
		return gofmt(j, args)
	case "test", "[":
		return condition(j, name, args)
	case "cd":
		return changeFolder(args)
	case "pushd":
		if len(args) != 1 || !args[0].known && !strings.HasPrefix(args[0].written, "~/") || args[0].text != "" && strings.IndexByte("+-", args[0].text[0]) >= 0 {
			return "changes to a folder that is only known when it runs"
		}
		return changeFolder(args)
	case "popd":
		if len(args) > 0 {
			return "gives `popd` more than it needs"
		}
		return ""
	case "echo", "printf", "tr":
		if fed(p) && name != "echo" && j.escaped {
			return "runs `" + name + "` with what it is fed, which may send control characters to the terminal"
		}
		if name == "tr" {
			s, _ := text(name)
			return j.use(s, name, args, p)
		}
		return j.show(name, args)
	case "printenv":
		return tellVariables(args)
	case "read", "mapfile", "readarray":
		return takeLines(j, name, args, p)
	case "break", "continue", "exit", "return", "shift", "wait":
		return j.use(spec{flags: "n", most: 2, texts: many}, name, args, p)
	case "env":
		return "tells the environment"
	case "set", "export", "umask", "ulimit", "jobs", "dirs", "help", "yes":
		return j.ofShell(name, args, p)
	}
	for _, family := range []func(string) (spec, bool){listing, reading, search, text} {
		if s, ok := family(name); ok {
			return j.use(s, name, args, p)
		}
	}
	return "runs `" + name + "`, which is not known to only read"
}

// condition judges test and [: with a known shape, no word can become an operator that
// evaluates its operand.
func condition(j *judge, name string, args []arg) string {
	if name == "[" {
		if len(args) == 0 || !args[len(args)-1].known || args[len(args)-1].text != "]" {
			return "has a test that does not end"
		}
		args = args[:len(args)-1]
	}
	allKnown := true
	for _, a := range args {
		if a.known && (a.text == "-v" || a.text == "-R") {
			return "has a test that evaluates a name"
		}
		allKnown = allKnown && a.known
		if !a.single && !j.numeric(a.word) {
			return "has a test of what is only known when it runs"
		}
	}
	if len(args) > 0 && args[0].known && args[0].text == "!" {
		args = args[1:]
	}
	unary := func(a arg) bool {
		return a.known && len(a.text) == 2 && a.text[0] == '-' && strings.Contains("abcdefghkprstuwxzGLNOSno", a.text[1:])
	}
	binary := func(a arg) bool {
		switch a.text {
		case "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef":
			return a.known
		}
		return false
	}
	switch {
	case allKnown, len(args) <= 1:
	case len(args) == 2 && unary(args[0]):
	case len(args) == 3 && binary(args[1]):
	default:
		return "has a test whose meaning is only known when it runs"
	}
	return ""
}

// changeFolder judges cd; what comes after it is marked as moved.
func changeFolder(args []arg) string {
	if len(args) > 0 && args[0].known && args[0].text == "--" {
		args = args[1:]
	}
	if len(args) > 1 {
		return "gives `cd` more than a folder"
	}
	for _, a := range args {
		switch {
		case a.dash && !(a.known && a.text == "-"):
			return "changes to a folder that is only known when it runs"
		case a.known && (strings.Trim(a.text, "/.") == "" && strings.HasPrefix(a.text, "/") || strings.Count(a.text, "..") > 4),
			strings.HasPrefix(a.shown(), "/proc"), strings.HasPrefix(a.shown(), "/dev"), a.pattern && strings.HasPrefix(a.written, "/"):
			return "changes to the folder " + a.shown() + ", from where it may tell the environment of processes"
		}
	}
	return ""
}

// fed: xargs adds to its words, or puts something in place of one.
func fed(p *Part) bool { return p.Via == "xargs" || slices.Contains(p.Wrappers, "xargs") }

func tellVariables(args []arg) string {
	if len(args) == 0 {
		return "tells the environment"
	}
	for _, a := range args {
		if !a.known || !isName(a.text) || !plainEnvironment(a.text) {
			return "tells the variable " + a.shown() + ", which may be a secret"
		}
	}
	return ""
}

// takeLines judges read and mapfile; which variables they set was looked at before.
func takeLines(j *judge, name string, args []arg, p *Part) string {
	if name == "read" {
		return j.use(spec{flags: "rs", values: "dnNptu", most: many, texts: many}, name, args, p)
	}
	return j.use(spec{flags: "t", values: "dnOsu", most: 1, texts: many}, name, args, p)
}
