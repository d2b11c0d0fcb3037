package sandbox

import "strings"

// Setting is a variable of the environment that keeps a tool from writing on the side.
type Setting struct {
	Name, Value string
	Why         string
}

// Quiet are the settings that let common tools run read-only without attempting to write what
// nobody asked them for. Each has its reason. None of them changes what a tool prints.
func Quiet() []Setting {
	return []Setting{
		{"GIT_OPTIONAL_LOCKS", "0", "git status and git diff write the index anew when all they found is that times changed"},
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
		{"GIT_TERMINAL_PROMPT", "0", "git asks for passwords where nobody is"},
	}
}

// Environment are the settings of Quiet as an environment has them.
func Environment() []string {
	var list []string
	for _, s := range Quiet() {
		list = append(list, s.Name+"="+s.Value)
	}
	return list
}

// isBookkeeping reports whether a path is one that tools write on the side without being
// asked, and that no setting keeps them from. Such an attempt is refused like any other, but
// it says nothing about what a command is for.
func isBookkeeping(path string) bool {
	for _, part := range []string{"/__pycache__", "/go/telemetry", "/pkg/mod/cache"} {
		if strings.Contains(path+"/", part+"/") {
			return true
		}
	}
	return false
}
