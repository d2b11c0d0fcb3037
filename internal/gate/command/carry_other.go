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
			word: func(_ int, text string) bool {
				at, plus := strings.CutPrefix(text, "+")
				return plus && strings.Trim(at, "0123456789") != ""
			},
		}, true
	case "sqlite3":
		return carrying{long: "cmd init", oneDash: true, word: dotCommand}, true
	}
	return carrying{}, false
}

// optionsFile: the program reads more of its options in the file that the word names.
func optionsFile(_ int, text string) bool { return strings.HasPrefix(text, "@") }

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

// dotCommand: a command of the shell and not of the database, but for those that look, or a function that loads
// code, runs an editor or writes a file.
func dotCommand(at int, text string) bool {
	if at < 2 {
		return false // the database
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
	return slices.ContainsFunc([]string{"load_extension", "edit(", "edit (", "writefile"},
		func(f string) bool { return strings.Contains(text, f) })
}
