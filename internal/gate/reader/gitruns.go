package reader

import "strings"

// GitRuns says whether the arguments of git, from the first after "git", hold an option that
// has git run a program, load settings or write a file of the caller's choice: before the
// subcommand, and behind it, in each form in which git takes it (abbreviated, glued to its
// value, in a cluster of letters). It is meant for rules that allow a subcommand whatever
// follows. A word that is only known when it runs counts if it may be an option.
func GitRuns(args []Word) bool {
	for len(args) > 0 {
		a := args[0]
		if !a.Known {
			return true
		}
		if !strings.HasPrefix(a.Text, "-") {
			break
		}
		if !harmlessGitFlag(a.Text) {
			return true
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return false
	}
	sub := args[0].Text
	for _, a := range args[1:] {
		switch {
		case a.Known && a.Text == "--":
			return false
		case !a.Known && a.mayBeOption():
			return true
		case strings.HasPrefix(a.lead(), "--"), a.Known && strings.HasPrefix(a.Text, "--"):
			if gitLongRuns(sub, a) {
				return true
			}
		case gitShortRuns(sub, a):
			return true
		}
	}
	return false
}

func harmlessGitFlag(text string) bool {
	switch text {
	case "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--no-lazy-fetch", "--no-advice", "--version", "--help":
		return true
	}
	return false
}

// gitLongRuns: git takes each beginning of a long option that is not the beginning of another
// one; what is too short to tell is taken for it.
func gitLongRuns(sub string, word Word) bool {
	text := word.lead()
	if word.Known {
		text = word.Text
	}
	name, _, _ := strings.Cut(text, "=")
	const most = len("--x")
	for option := range strings.FieldsSeq(gitRunningOptions(sub)) {
		if len(name) >= most && strings.HasPrefix(option, name) {
			return true
		}
	}
	return false
}

// gitRunningOptions run, load or write, by subcommand.
func gitRunningOptions(sub string) string {
	switch sub {
	case "clone", "init":
		return "--upload-pack --config --template --separate-git-dir"
	case "fetch", "pull", "ls-remote", "fetch-pack", "send-pack", "push", "archive":
		return "--upload-pack --receive-pack --exec --output"
	case "rebase":
		return "--exec"
	case "add", "commit", "tag", "merge", "cherry-pick", "revert", "checkout", "switch", "restore", "stash", "worktree", "remote", "mv", "rm", "reset":
		return ""
	}
	return "--upload-pack --receive-pack --exec --ext-diff --textconv --open-files-in-pager --output --output-directory --extcmd --template --show-signature --filters --edit-description"
}

// gitShortRuns: letters that run something, alone, glued to their value or in a cluster.
func gitShortRuns(sub string, word Word) bool {
	text := word.lead()
	if word.Known {
		text = word.Text
	}
	if len(text) < 2 || text[0] != '-' {
		return false
	}
	letters, values := "", ""
	switch sub {
	case "clone":
		letters, values = "uc", "obj"
	case "rebase":
		letters, values = "x", "CXSs"
	case "grep":
		letters, values = "O", "efABCm"
	case "difftool":
		letters, values = "xt", "O"
	case "format-patch", "archive":
		letters = "o"
	default:
		return false
	}
	for i := 1; i < len(text); i++ {
		if strings.IndexByte(letters, text[i]) >= 0 {
			return true
		}
		if strings.IndexByte(values, text[i]) >= 0 {
			return false // the rest is its value
		}
	}
	return false
}
