package command

import "strings"

// SafeVariable: the assignment changes how a program writes or builds, and not what it runs,
// loads or talks to.
func SafeVariable(a Assign) bool {
	if !a.Value.Known || a.Append {
		return false
	}
	v := a.Value.Text
	switch a.Name {
	case "CGO_ENABLED", "CI", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "DO_NOT_TRACK", "FORCE_COLOR",
		"GO111MODULE", "GOARCH", "GOOS", "LINES", "NODE_ENV", "NO_COLOR", "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
		"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "RUST_BACKTRACE", "RUST_LOG", "TERM",
		"LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME":
		return !strings.Contains(v, "/") && !strings.HasPrefix(v, ".")
	case "TZ":
		return !strings.HasPrefix(v, "/") && !strings.HasPrefix(v, ":") && !strings.Contains(v, "..")
	case "GIT_PAGER", "PAGER", "MANPAGER":
		return v == "cat" || v == ""
	case "GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT":
		return v == "0"
	}
	return false
}

// OwnVariable: a name that no program and no shell looks at, so that it only means something
// within the command.
func OwnVariable(name string) bool {
	switch name {
	case "histchars", "auto_resume", "ignoreeof", "":
		return false
	case "FILE", "FILES", "COUNT", "TOTAL", "DIR", "NAME", "NUM", "LINE", "REPLY", "MAPFILE", "OUT", "RESULT",
		"BRANCH", "BASE", "SHA", "COMMIT":
		return true
	}
	if len(name) == 1 && name[0] >= 'A' && name[0] <= 'Z' {
		return true
	}
	return isName(name) && strings.ToLower(name) == name && !strings.HasSuffix(name, "_proxy") &&
		!strings.HasPrefix(name, "npm_") && !strings.HasPrefix(name, "_")
}

// plainEnvironment: variables that are no secret.
func plainEnvironment(name string) bool {
	switch name {
	case "HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "UID", "EUID", "PPID", "HOSTNAME", "HOSTTYPE", "OSTYPE",
		"MACHTYPE",
		"RANDOM", "SECONDS", "LINENO", "BASHPID", "BASH_VERSION", "COLUMNS", "LINES", "SHLVL", "TMPDIR", "LANG",
		"LC_ALL", "PATH", "TERM",
		"IFS", "REPLY", "PIPESTATUS", "EPOCHSECONDS", "GOPATH", "GOROOT", "GOOS", "GOARCH", "EDITOR", "TZ",
		"?", "#", "$", "!", "@", "*", "-", "_":
		return true
	}
	return strings.Trim(name, "0123456789") == ""
}

// redefines: variables that give names another meaning to a shell, or hold what it or git runs.
func redefines(variable string) bool {
	switch variable {
	case "BASH_ALIASES", "BASH_CMDS", "BASH_ENV", "PROMPT_COMMAND", "PS0", "PS1", "PS4", "GIT_CONFIG_PARAMETERS",
		"GIT_CONFIG_COUNT":
		return true
	}
	return strings.HasPrefix(variable, "GIT_CONFIG_KEY_") || strings.HasPrefix(variable, "BASH_FUNC_")
}

// runnable: variables whose value is a command that programs run.
func runnable(variable string) bool {
	switch variable {
	case "GIT_SSH_COMMAND", "GIT_SSH", "GIT_PROXY_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR",
		"GIT_SEQUENCE_EDITOR", "GIT_ASKPASS", "SSH_ASKPASS", "PAGER", "MANPAGER",
		"LESSOPEN", "LESSCLOSE", "EDITOR", "VISUAL", "BROWSER", "RSYNC_RSH", "CVS_RSH", "TAR_RSH", "SUDO_ASKPASS",
		"CC", "CXX", "SHELL", "MAKEFLAGS":
		return true
	}
	return redefines(variable) || strings.HasPrefix(variable, "GIT_CONFIG_VALUE_")
}
