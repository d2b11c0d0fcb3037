package command

import (
	"path"
	"slices"
	"strings"
)

// carrying is what makes a program do something else than it is used for: run another program, load code
// or settings, or write to a file of the caller's choice. A rule that allows the program with whatever
// follows does not mean it.
type carrying struct {
	long     string // long options, each also shortened as getopt takes it; with oneDash they are whole
	harmless string // long options that are the beginning of one of those, and mean something else
	oneDash  bool   // a long option may have one dash
	letters  string // short options
	values   string // short options with a value, which holds no letters
	begins   string // what a word begins with
	ends     string // words behind which nothing is the program's own
	// fine: the option is harmless with this value; nil: none is.
	fine func(option, value string) bool
	// word looks at what is no option, as far as it is known; nil: that is what the program is used on.
	word func(at int, text string, known bool) bool
	// scripts: the program takes what it does from its input, unless words say it.
	scripts func(words []Word) bool
	// interpreter: a rule that names nothing but the program means all of this, and behind a script
	// that a rule names all is the script's.
	interpreter bool
	// changes are options with which a program that looks at files changes them: that is meant by a rule
	// with no option of its own.
	changes string
}

// carries is the table. What is not here runs or writes because that is its purpose (a rule for `npm run`
// means what package.json says), or does so by nothing that its words say.
func carries(name string) (carrying, bool) {
	switch name {
	case "tar", "gtar", "bsdtar":
		return carrying{
			long: "checkpoint-action to-command use-compress-program rsh-command rmt-command info-script " +
				"new-volume-script index-file volno-file listed-incremental",
			harmless: "checkpoint to-stdout", letters: "IFg", values: "fbCTXHVKNL", word: tarLetters,
		}, true
	case "zip":
		return carrying{long: "unzip-command", begins: "-TT"}, true
	case "cpio":
		return carrying{long: "rsh-command", values: "EFHIMO"}, true
	case "split":
		return carrying{long: "filter"}, true
	case "rsync":
		return carrying{
			long: "rsh rsync-path remote-option config daemon log-file", letters: "eM", values: "BfT",
			fine: func(_, value string) bool { return value == "ssh" },
		}, true
	case "ssh", "scp", "sftp":
		return carrying{letters: "oFSEID", values: "BbceiJlLmOPpQRWw", fine: plainSSH}, true
	case "curl":
		return carrying{
			long: "output remote-name remote-name-all config dump-header cookie-jar trace trace-ascii stderr " +
				"libcurl engine etag-save output-dir hsts alt-svc unix-socket abstract-unix-socket",
			letters: "oOKDc", values: "AbCdeEFHmPQrtTuUwxXyYz", fine: toNowhere,
		}, true
	case "wget":
		return carrying{
			long: "execute config use-askpass output-file append-output", letters: "eoa", values: "OPAiBQtTU",
		}, true
	case "nc", "ncat", "netcat":
		return carrying{long: "exec sh-exec lua-exec", letters: "ec"}, true
	case "kubectl", "helm":
		return carrying{long: "kubeconfig post-renderer"}, true
	case "terraform", "tofu":
		return carrying{long: "chdir plugin-dir", oneDash: true}, true
	}
	return carriesBuilding(name)
}

// carriesBuilding are the programs that build and install.
func carriesBuilding(name string) (carrying, bool) {
	switch name {
	case "go":
		return carrying{
			long: "exec toolexec vettool overlay modfile ldflags gccgoflags compiler C", oneDash: true,
			ends: "-- -args --args", fine: plainGo,
		}, true
	case "gofmt":
		return carrying{changes: "-w"}, true
	case "make", "gmake":
		return carrying{
			long: "file makefile eval include-dir directory", letters: "fEIC", values: "jloW", fine: plainFolder,
			word: makeVariable,
		}, true
	case "ninja":
		return carrying{letters: "fC", values: "jkldtw", fine: plainFolder}, true
	case "cmake":
		return carrying{
			long: "toolchain", letters: "PECD", values: "BSGATUW", ends: "--", fine: plainCMake,
		}, true
	case "ctest":
		return carrying{
			long: "build-and-test test-command script script-new-process dashboard", letters: "SD", values: "jRELICOM",
		}, true
	case "gcc", "g++", "cc", "c++", "gfortran", "clang", "clang++", "ld", "ld.bfd", "ld.gold", "ld.lld", "lld":
		return carrying{
			long: "wrapper specs fplugin load plugin Xclang Xlinker config", oneDash: true, word: optionsFile,
			begins: "-B -fplugin -fpass-plugin -specs -fuse-ld=/ -Wl,-plugin -Wl,--plugin -Wl,@",
		}, true
	case "cargo":
		return carrying{
			long: "config manifest-path Z C", oneDash: true, begins: "-Z", ends: "--", fine: plainFolder,
		}, true
	case "rustc":
		return carrying{long: "C codegen Z sysroot", oneDash: true, begins: "-Z -C", fine: plainRustc,
			word: optionsFile}, true
	case "npm", "pnpm", "yarn", "bun":
		return carrying{
			long: "script-shell shell node-options git editor viewer browser prefix userconfig globalconfig " +
				"init-module python node-gyp no-ignore-scripts registry cwd dir use-yarnrc preload",
			harmless: "production no-audit no-fund no-save no-optional no-bin-links no-package-lock global use-stderr",
			letters:  "C", begins: "--ignore-scripts=false", ends: "--", fine: plainFolder,
		}, true
	case "pip", "pip3":
		return carrying{
			long: "index-url extra-index-url find-links trusted-host python config-settings global-option " +
				"build-option install-option editor log keyring-provider",
			letters: "ifC", values: "rcet",
		}, true
	}
	return carriesChecking(name)
}

// carriesChecking are the programs that test and check, and those that run a file.
func carriesChecking(name string) (carrying, bool) {
	switch name {
	case "pytest", "py.test":
		return carrying{
			long:     "pdbcls config-file override-ini rootdir confcutdir basetemp log-file pastebin",
			harmless: "pdb", letters: "pco", values: "kmnrW",
			fine: func(_, value string) bool { return strings.HasPrefix(value, "no:") },
		}, true
	case "eslint":
		return carrying{
			long:    "config rulesdir format parser plugin resolve-plugins-relative-to output-file",
			letters: "cfo", changes: "--fix", fine: func(option, value string) bool {
				return option[0] == 'f' && strings.Trim(value, "abcdefghijklmnopqrstuvwxyz-") == ""
			},
		}, true
	case "prettier":
		return carrying{long: "plugin config", changes: "--write -w", harmless: "config-precedence"}, true
	case "ruff", "black", "isort":
		return carrying{long: "config settings-path", changes: "--fix --fix-only"}, true
	case "jest", "vitest", "mocha":
		return carrying{
			long: "config globalSetup globalTeardown setupFiles setupFilesAfterEnv testRunner runner transform " +
				"resolver reporters environment require import loader outputFile rootDir",
			harmless: "runInBand reporter env", letters: "cr",
		}, true
	case "node", "perl", "ruby", "python", "python2", "python3", "php", "lua":
		return carrying{
			long:     "require import loader experimental-loader eval print env-file inspect inspect-brk run",
			harmless: "test", letters: "eEcprMmIixCW", interpreter: true,
		}, true
	}
	return carriesOther(name)
}

// Carries says what in the words of a command has its program run another one, load code or settings, or write a
// file, beyond what the program is used for; "" if nothing does. It completes "it …". said are the words that a
// rule spells out: what is among them is meant.
func Carries(words []Word, said []string) string {
	words, said = behindModule(words, said)
	name := path.Base(words[0].Text)
	known, ok := carries(name)
	if !ok || known.interpreter && (len(said) < 2 || slices.ContainsFunc(said[1:], isOperand)) {
		return ""
	}
	if known.scripts != nil && known.scripts(words) {
		return "lets `" + name + "` take from its input what it does"
	}
	s := scan{known: known, words: words, said: said}
	for s.at = 1; s.at < len(words); s.at++ {
		w := words[s.at]
		switch {
		case s.at < len(said) && w.Text == said[s.at], slices.Contains(said, w.Text) && strings.HasPrefix(w.Text, "-"):
		case !w.Known && (w.mayBegin('-') || new(Variables).splits(w)):
			return "gives `" + name + "` a word that is only known when it runs and may be an option that runs a " +
				"program"
		case slices.Contains(strings.Fields(known.ends), w.Text):
			return ""
		case s.carries():
			return "gives `" + name + "` the word `" + w.Text + "`, which runs, loads or writes what no rule names"
		}
	}
	return ""
}

// behindModule leaves out what runs a module of Python that is a program of the table.
func behindModule(words []Word, said []string) ([]Word, []string) {
	if len(words) < 3 || !strings.HasPrefix(path.Base(words[0].Text), "python") || words[1].Text != "-m" {
		return words, said
	}
	if known, ok := carries(words[2].Text); !ok || known.interpreter {
		return words, said
	}
	return words[2:], said[min(2, len(said)):]
}

func isOperand(word string) bool { return !strings.HasPrefix(word, "-") }

// scan is a look at one word after the other.
type scan struct {
	known carrying
	words []Word
	said  []string
	at    int
}

func (s *scan) carries() bool {
	known, text := &s.known, s.words[s.at].Text
	if !s.words[s.at].Known {
		text = s.words[s.at].lead()
	}
	switch {
	case isOperand(text) || len(text) < 2:
		return known.word != nil && known.word(s.at, text, s.words[s.at].Known)
	case s.begins(text):
		return true
	case slices.Contains(strings.Fields(known.changes), text):
		return slices.ContainsFunc(s.said, func(w string) bool { return !isOperand(w) })
	}
	option, value, glued := strings.Cut(strings.TrimLeft(text, "-"), "=")
	if !glued {
		value = s.next()
	}
	if strings.HasPrefix(text, "--") || known.oneDash {
		return s.isLong(option) && !s.fine(option, value)
	}
	run, taken := strings.IndexAny(text, known.letters), strings.IndexAny(text, known.values)
	if run < 1 || taken > 0 && taken < run {
		return false
	}
	if value = text[run+1:]; value == "" {
		value = s.next()
	}
	return !s.fine(text[run:run+1], strings.TrimPrefix(value, "="))
}

// begins: the word begins as one that counts.
func (s *scan) begins(text string) bool {
	return slices.ContainsFunc(strings.Fields(s.known.begins), func(b string) bool {
		value, ok := strings.CutPrefix(text, b)
		if ok && value == "" {
			value = s.next()
		}
		return ok && !s.fine(strings.TrimLeft(b, "-"), value)
	})
}

// isLong: the option is one of those that count, as a whole or shortened.
func (s *scan) isLong(option string) bool {
	all := strings.Fields(s.known.long)
	if s.known.oneDash || slices.Contains(strings.Fields(s.known.harmless), option) {
		return s.known.oneDash && slices.Contains(all, option)
	}
	return len(option) > 1 && slices.ContainsFunc(all, func(o string) bool { return strings.HasPrefix(o, option) })
}

func (s *scan) fine(option, value string) bool {
	return s.known.fine != nil && s.known.fine(option, value)
}

// next is the value of an option that stands in a word of its own.
func (s *scan) next() string {
	if s.at+1 < len(s.words) && s.words[s.at+1].Known {
		return s.words[s.at+1].Text
	}
	return ""
}

// tarLetters: tar takes its first word for options without a dash.
func tarLetters(at int, text string, known bool) bool {
	return at == 1 && (!known || strings.ContainsAny(text, "IF"))
}

// plainFolder: the option says in which folder to work, and that is below this one.
func plainFolder(option, value string) bool {
	switch option {
	case "C", "directory", "prefix", "cwd", "dir", "manifest-path":
		return value != "" && value[0] != '/' && value[0] != '~' && !climbs(value)
	}
	return false
}

func climbs(name string) bool { return slices.Contains(strings.Split(name, "/"), "..") }

// plainGo: flags of the linker that name no other linker, and a folder below this one.
func plainGo(option, value string) bool {
	return option == "ldflags" && value != "" && !strings.Contains(value, "-ext") &&
		!strings.ContainsAny(value, "$`") ||
		plainFolder(option, value)
}

// makeVariable: a variable in which makefiles keep what they run, or whose value could end a command and begin
// another one.
func makeVariable(_ int, text string, known bool) bool {
	name, value, sets := strings.Cut(text, "=")
	switch {
	case !sets:
		return false
	case !known:
		return true
	}
	switch strings.TrimRight(name, ":?+!") {
	case "SHELL", "MAKE", "MAKEFLAGS", "MAKEFILES", "GNUMAKEFLAGS", "CC", "CXX", "CPP", "LD", "AR", "AS", "FC", "PC",
		"RM", "LEX", "YACC", "LINT", "INSTALL", "GO", "PYTHON", "NODE", "NPM", "CARGO", "GIT", "DOCKER",
		".SHELLFLAGS":
		return true
	}
	return strings.ContainsAny(value, ";|&$`()<>\n") || strings.Contains(value, "-wrapper") ||
		strings.Contains(value, "-fplugin") || strings.Contains(value, "exec") ||
		strings.Contains(name, "FLAGS") && turnsCompiler(value)
}

// turnsCompiler: the words for a compiler, in a variable of a build, have it run or load something.
func turnsCompiler(value string) bool {
	words := []Word{{Text: "cc", Known: true}}
	for _, text := range strings.Fields(strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(value)) {
		words = append(words, Word{Text: text, Known: true})
	}
	return Carries(words, nil) != ""
}

// plainCMake: a variable of a build that names no program.
func plainCMake(option, value string) bool {
	if option != "D" {
		return false
	}
	name, text, _ := strings.Cut(value, "=")
	name, _, _ = strings.Cut(name, ":")
	if strings.Contains(strings.ToUpper(name), "FLAGS") && turnsCompiler(text) {
		return false
	}
	return value != "" && !strings.ContainsAny(text, ";$`") && !slices.ContainsFunc([]string{"COMPILER", "LAUNCHER",
		"PROGRAM", "COMMAND", "TOOLCHAIN", "EXECUTABLE", "LINKER", "RULE", "INCLUDE", "MODULE", "PREFIX"},
		func(part string) bool { return strings.Contains(strings.ToUpper(name), part) })
}

// plainRustc: an option of code generation that names no program and adds nothing to the linker's words.
func plainRustc(option, value string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(value, "="), "=")
	return option[0] == 'C' && slices.Contains([]string{"opt-level", "debuginfo", "lto", "codegen-units", "target-cpu",
		"target-feature", "panic", "incremental", "overflow-checks", "strip", "debug-assertions"}, name)
}

// plainSSH: settings that change how a connection is made, and name no program and no file.
func plainSSH(option, value string) bool {
	name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(value)), "=")
	name, _, _ = strings.Cut(name, " ")
	return option == "o" && slices.Contains([]string{"batchmode", "connecttimeout", "connectionattempts",
		"serveraliveinterval", "serveralivecountmax", "stricthostkeychecking", "loglevel", "port", "user",
		"compression",
		"identitiesonly", "passwordauthentication", "preferredauthentications", "addressfamily", "tcpkeepalive",
		"checkhostip", "requesttty"}, name)
}

// toNowhere: what is written is shown, or kept by nothing.
func toNowhere(option, value string) bool {
	switch option {
	case "o", "output", "D", "dump-header", "stderr", "trace", "trace-ascii":
		return value == "-" || value == "/dev/null" || value == "/dev/stdout" || value == "/dev/stderr"
	}
	return false
}

// isLoader: the loader of programs, which runs the one that it is given.
func isLoader(name string) bool {
	return (strings.HasPrefix(name, "ld-") || strings.HasPrefix(name, "ld.") || strings.HasPrefix(name, "ld64")) &&
		strings.Contains(name, ".so")
}
