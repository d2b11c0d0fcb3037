package sandbox

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Setting is a variable of the environment that keeps a tool from writing on the side.
type Setting struct {
	Name, Value string
	Why         string
}

// Quiet are the settings that let common tools run read-only without attempting to write what
// nobody asked them for. Each has its reason. None of them changes what a tool prints.
func Quiet() []Setting {
	return []Setting{
		{"GIT_OPTIONAL_LOCKS", "0", "git status writes the index anew when all it found is that times changed"},
		{"PYTHONDONTWRITEBYTECODE", "1", "Python keeps compiled modules beside their sources"},
		{"LESSHISTFILE", "-", "less keeps what was searched for in the home folder"},
		{"NODE_REPL_HISTORY", "", "node keeps what was typed in the home folder"},
		{"NODE_DISABLE_COMPILE_CACHE", "1", "node keeps compiled modules in a cache"},
		{"SQLITE_HISTORY", "/dev/null", "sqlite3 keeps what was typed in the home folder"},
		{"HISTFILE", "/dev/null", "shells keep what was typed in the home folder"},
		{"npm_config_update_notifier", "false", "npm notes when it last looked for a newer version of itself"},
		{"npm_config_logs_max", "0", "npm keeps a log of each run in the home folder"},
		{"npm_config_audit", "false", "npm reports what is installed"},
		{"npm_config_fund", "false", "npm looks for what to advertise"},
		{"PIP_NO_CACHE_DIR", "1", "pip keeps what it downloads in the home folder"},
		{"PIP_DISABLE_PIP_VERSION_CHECK", "1", "pip looks for a newer version of itself and notes when"},
		{"GOTELEMETRY", "off", "the go command counts its own use in the home folder"},
		{"HOMEBREW_NO_AUTO_UPDATE", "1", "brew updates itself first"},
		{"DOTNET_CLI_TELEMETRY_OPTOUT", "1", "dotnet reports its use"},
		{"GIT_TERMINAL_PROMPT", "0", "git would wait for a password"},
	}
}

// Offline are the settings by which common tools do not try again and again to reach somebody, where nobody is
// reached: with them a command that wants the network ends at once, and can be asked about.
func Offline() []Setting {
	return []Setting{
		{"npm_config_fetch_retries", "0", "npm waits for a minute and more between its attempts"},
		{"YARN_HTTP_RETRY", "0", "yarn tries three times"},
		{"PIP_RETRIES", "0", "pip tries five times, and waits in between"},
		{"CARGO_NET_RETRY", "0", "cargo tries three times"},
		{"UV_HTTP_RETRIES", "0", "uv tries three times"},
		{"BUNDLE_RETRY", "0", "bundler tries three times"},
	}
}

// Environment are settings as an environment has them.
func Environment(settings []Setting) []string {
	var list []string
	for _, s := range settings {
		list = append(list, s.Name+"="+s.Value)
	}
	return list
}

// chore is what a tool writes on the side without being asked, that no setting keeps it from,
// and that it does without if it must. It is refused like anything else, but says nothing
// about what a command is for, so nobody is asked about it. What a tool fails without is no
// chore, whoever wrote it: then its refusal is what one has to know.
//
// Who the tool is, where its home is and what it was told is its own word. A command that lies
// about them keeps its refusals to itself, and gets nothing by that.
type chore struct {
	tools []string // patterns of the names of programs; folders of them if they end in "/"
	// means says by its arguments that the tool was not asked for just that; nil: it never is.
	means   func(args []string) bool
	removes bool // also what was there
	// Where: patterns of absolute paths, patterns of paths below the home, and names that stand
	// for themselves and all below, wherever they are.
	paths, home, names []string
	// objects are those of git that are there: only their times are written.
	objects bool
}

func chores() []chore {
	return []chore{
		// The index, with the times of files that are as they were. With the lock refused they
		// are looked at again the next time. GIT_OPTIONAL_LOCKS keeps only status from it.
		{tools: []string{"git"}, means: command(gitValues(), "diff", "status", "describe", "show", "log", "blame"),
			names: []string{"index.lock"}},
		// The time of an object that is there already, in a repository that it borrows from: refused that, it writes
		// one of its own.
		{tools: []string{"git"}, objects: true},
		// PYTHONDONTWRITEBYTECODE does not count for who ignores the environment.
		{tools: pythons(), means: without("compileall", "py_compile"), names: []string{"__pycache__"}},
		{tools: pythons(), home: []string{".python_history"}},
		// Numbers about itself for whoever measures it, and those of processes that are gone. What
		// would switch it off prints that it did.
		{
			tools:   []string{"java", "javac", "javadoc", "javap", "jar", "jcmd", "jps", "jshell", "jstack", "keytool"},
			removes: true,
			paths:   []string{"/tmp/hsperfdata_*", "/tmp/hsperfdata_*/*"},
		},
		// What it counts about its own use; GOTELEMETRY cannot be set. And locks and notes in the
		// folder of what it fetched: to fetch it needs the network, which is asked about.
		{tools: goTools(), means: countsGo, home: []string{".config", ".config/go"}, names: []string{"go/telemetry"}},
		{tools: goTools(), means: without("clean"), home: []string{"go", "go/pkg", "go/pkg/mod"},
			names: []string{"pkg/mod/cache"}},
		// Where it would keep logs of its runs and what it fetched.
		{tools: []string{"node", "nodejs"}, means: without("cache"),
			home: []string{".npm", ".npm/_logs", ".npm/_logs/*", ".npm/_update-notifier-last-checked"}},
		{tools: []string{"cargo"}, means: command(nil, "metadata", "tree"),
			home: []string{".cargo", ".cargo/.package-cache"}},
		// Pages as they were shown, for the next time; root may.
		{tools: []string{"man"}, paths: []string{"/var/cache/man/*", "/var/cache/man/*/*", "/var/cache/man/*/*/*"}},
	}
}

func pythons() []string { return []string{"python*", "pypy*"} }

// goTools are go itself, and what it runs: tools of the distribution, and those that it has built into its cache.
func goTools() []string {
	return []string{"go", "gofmt", "pkg/tool/*/", "[0-9a-f][0-9a-f]/[0-9a-f]*-d/"}
}

// gitValues are git's options that have their value in the next word.
func gitValues() []string {
	return []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env",
		"--attr-source"}
}

// command wants one of some subcommands: the first word that is neither an option nor, of
// those options that have one in the next word, a value.
func command(values []string, names ...string) func([]string) bool {
	return func(args []string) bool {
		for i := 1; i < len(args); i++ {
			switch arg := args[i]; {
			case slices.Contains(values, arg):
				i++
			case !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "+"):
				return slices.Contains(names, arg)
			}
		}
		return false
	}
}

// without wants none of some words.
func without(words ...string) func([]string) bool {
	return func(args []string) bool {
		return !slices.ContainsFunc(args, func(a string) bool { return slices.Contains(words, a) })
	}
}

// countsGo: "go telemetry" and "go env -w" mean to write there.
func countsGo(args []string) bool {
	return without("telemetry")(args) && (!slices.Contains(args, "env") || without("-w", "-u", "--w", "--u")(args))
}

// tool is a program that attempted something, as far as it can be known.
type tool struct {
	exe  string   // the path of the program
	home string   // resolved; "" if it has none
	args []string // with the name it was called by
}

// does reports whether it is a chore of the tool to make or change what is at a path.
func (t tool) does(op troupe.AttemptOp, name string) bool {
	return slices.ContainsFunc(chores(), func(c chore) bool {
		return (op == troupe.OpCreate && !c.objects || op == troupe.OpWrite || c.removes && op == troupe.OpRemove) &&
			c.matches(name, t.home) && c.by(t.exe) && (c.means == nil || c.means(t.args))
	})
}

// isObject reports whether a path is that of an object of git, or of a pack of them.
func isObject(name string) bool {
	dir, base := path.Split(name)
	switch dir, folder := path.Split(strings.TrimSuffix(dir, "/")); {
	case !strings.HasSuffix(dir, "/objects/"):
		return false
	case folder == "pack":
		return strings.HasPrefix(base, "pack-")
	default:
		return len(folder) == 2 && len(base) >= 38 && strings.Trim(folder+base, "0123456789abcdef") == ""
	}
}

func (c chore) matches(name, home string) bool {
	if c.objects {
		return isObject(name)
	}
	rest, inHome := strings.CutPrefix(name, home+"/")
	return anyMatches(c.paths, name) || home != "" && inHome && anyMatches(c.home, rest) ||
		slices.ContainsFunc(c.names, func(n string) bool { return strings.Contains(name+"/", "/"+n+"/") })
}

func (c chore) by(exe string) bool {
	dir, name := path.Split(exe)
	return slices.ContainsFunc(c.tools, func(pattern string) bool {
		folder, ok := strings.CutSuffix(pattern, "/")
		if !ok {
			return matches(pattern, name)
		}
		parts := strings.Split(strings.TrimSuffix(dir, "/"), "/")
		n := strings.Count(folder, "/") + 1
		return len(parts) > n && matches(folder, strings.Join(parts[len(parts)-n:], "/"))
	})
}

func anyMatches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
