package command

import (
	"slices"
	"strings"
)

// carriesOther are the programs that build for the Java machine, editors, and shells of databases.
func carriesOther(name string) (carrying, bool) {
	switch name {
	case "javac":
		return carrying{
			long: "processor processorpath -processor-path Xplugin", oneDash: true, begins: "-J -Xplugin",
			word: optionsFile,
		}, true
	case "gradle", "gradlew":
		return carrying{
			long:    "init-script settings-file build-file project-dir include-build gradle-user-home system-prop",
			letters: "IcbpgD", values: "xPMF", fine: plainGradle,
		}, true
	case "mvn", "mvnw":
		return carrying{
			long: "f file s settings gs global-settings t toolchains D define", oneDash: true, fine: plainMaven,
			begins: strings.Join(mavenRuns(), " "),
		}, true
	case "vi", "vim", "nvim", "view", "ex", "vimdiff":
		return carrying{
			long: "cmd startuptime listen", letters: "cSsuUwW", values: "tTi",
			word: func(_ int, text string, known bool) bool {
				at, plus := strings.CutPrefix(text, "+")
				return plus && (!known || strings.Trim(at, "0123456789") != "")
			},
		}, true
	case "sqlite3":
		return carrying{long: "cmd init", oneDash: true, word: dotCommand, scripts: noQuery}, true
	}
	return carrying{}, false
}

// optionsFile: the program reads more of its options in the file that the word names.
func optionsFile(_ int, text string, _ bool) bool { return strings.HasPrefix(text, "@") }

// plainGradle: a property that is not one of Gradle's own, which say what runs.
func plainGradle(option, value string) bool {
	return option == "D" && value != "" && !strings.HasPrefix(value, "org.gradle.")
}

// mavenRuns are the properties that have Maven load code, run a program or read settings.
func mavenRuns() []string {
	return []string{"-Dmaven.ext.", "-Dmaven.home", "-Dmaven.multiModuleProjectDirectory", "-Dmaven.repo.",
		"-Dmaven.compiler.executable", "-Dexec.", "-DargLine", "-Djvm="}
}

func plainMaven(option, value string) bool {
	return (option == "D" || option == "define") && value != "" &&
		!slices.ContainsFunc(mavenRuns(), func(p string) bool { return strings.HasPrefix("-D"+value, p) })
}

// noQuery: no word of sqlite3 says what to do with the database.
func noQuery(words []Word) bool {
	operands := 0
	for i := 1; i < len(words); i++ {
		switch {
		case isOperand(words[i].Text):
			operands++
		case slices.Contains([]string{"separator", "nullvalue", "newline", "vfs", "maxsize", "mmap", "heap"},
			strings.TrimLeft(words[i].Text, "-")):
			i++
		case slices.Contains([]string{"lookaside", "pagecache"}, strings.TrimLeft(words[i].Text, "-")):
			i += 2
		case slices.Contains([]string{"version", "help"}, strings.TrimLeft(words[i].Text, "-")):
			return false
		}
	}
	return operands < 2
}

// dotCommand: a command of the shell and not of the database, but for those that look, or a function that loads
// code, runs an editor or writes a file.
func dotCommand(at int, text string, known bool) bool {
	switch {
	case at < 2:
		return false // the database
	case !known:
		return true
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		command, _, _ := strings.Cut(line, " ")
		if strings.HasPrefix(line, ".") && !slices.Contains([]string{".tables", ".schema", ".indexes", ".databases",
			".headers", ".mode", ".dump", ".stats", ".width", ".quit"}, command) {
			return true
		}
	}
	text = strings.ToLower(text)
	return strings.Contains(text, "load_extension") || strings.Contains(text, "writefile") || calls(text, "edit")
}

// calls reports whether SQL calls a function: its name and a parenthesis, with nothing but spaces and comments in
// between. A name can be quoted in four ways.
func calls(sql, function string) bool {
	for last := ""; sql != ""; {
		token, rest := nextToken(sql)
		switch name := strings.Trim(token, "\"'`[]"); {
		case token == "(" && last == function:
			return true
		case strings.TrimSpace(token) == "", strings.HasPrefix(token, "--"), strings.HasPrefix(token, "/*"),
			token == "\ufeff":
		default:
			last = name
		}
		sql = rest
	}
	return false
}

// nextToken cuts the first token from SQL, as sqlite does: a comment, what is quoted, a word, or one sign.
func nextToken(sql string) (token, rest string) {
	end := len(sql)
	until := func(mark string, from int) {
		if i := strings.Index(sql[min(from, end):], mark); i >= 0 {
			end = from + i + len(mark)
		}
	}
	switch {
	case strings.HasPrefix(sql, "--"):
		until("\n", 2)
	case strings.HasPrefix(sql, "/*"):
		until("*/", 2)
	case strings.HasPrefix(sql, "\ufeff"):
		end = len("\ufeff")
	case sql[0] == '[':
		until("]", 1)
	case strings.ContainsRune("\"'`", rune(sql[0])):
		until(sql[:1], 1)
	default:
		if end = strings.IndexFunc(sql, func(r rune) bool { return !inWord(r) }); end < 0 {
			end = len(sql)
		}
		end = max(end, 1)
	}
	return sql[:end], sql[end:]
}

func inWord(r rune) bool {
	return r == '_' || r == '$' || r >= 0x80 || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
