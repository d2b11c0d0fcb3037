package command

import (
	"path"
	"slices"
	"strings"
)

// Options that git's reading commands share. What starts other programs (--ext-diff, --textconv,
// --show-signature, -O of grep) and what writes (--output) is not among them.
const (
	gitDiff = "patch no-patch raw minimal patience histogram anchored= diff-algorithm= stat[= compact-summary " +
		"numstat shortstat dirstat[= cumulative summary patch-with-stat " +
		"name-only name-status color[= no-color color-moved[= word-diff[= word-diff-regex= color-words[= " +
		"no-renames check full-index binary abbrev[= find-renames[= find-copies[= " +
		"find-copies-harder diff-filter= pickaxe-all pickaxe-regex relative[= text ignore-space-at-eol " +
		"ignore-space-change ignore-all-space ignore-blank-lines inter-hunk-context= " +
		"function-context exit-code quiet no-ext-diff no-textconv ignore-submodules[= src-prefix= dst-prefix= " +
		"no-prefix unified= cc cached staged no-index root no-commit-id merge-base patch-with-raw indent-heuristic " +
		"no-indent-heuristic dirstat-by-file[= no-color-moved color-moved-ws= no-rename-empty rename-empty " +
		"ws-error-highlight= break-rewrites[= irreversible-delete skip-to= rotate-to= no-relative ignore-cr-at-eol " +
		"ignore-matching-lines= default-prefix line-prefix= ita-invisible-in-index diff-merges= no-diff-merges " +
		"combined-all-paths output-indicator-new= output-indicator-old= output-indicator-context= base ours theirs " +
		"always verbose"
	gitLog = gitDiff + " follow no-decorate decorate[= source no-mailmap max-count= skip= since= after= until= " +
		"before= author= committer= grep= all-match invert-grep regexp-ignore-case " +
		"extended-regexp fixed-strings perl-regexp merges no-merges first-parent not all branches[= tags[= " +
		"remotes[= glob= exclude= reflog cherry-mark cherry-pick left-only right-only " +
		"cherry walk-reflogs merge boundary simplify-by-decoration full-history ancestry-path[= date-order " +
		"author-date-order topo-order reverse no-walk[= pretty[= format= abbrev-commit " +
		"no-abbrev-commit oneline notes[= no-notes date= relative-date parents children left-right graph no-graph " +
		"count full-diff objects numbered email decorate-refs= decorate-refs-exclude= mailmap use-mailmap log-size " +
		"grep-reflog= basic-regexp remove-empty min-parents= max-parents= no-min-parents no-max-parents " +
		"exclude-first-parent-only ignore-missing show-pulls dense sparse simplify-merges do-walk expand-tabs[= " +
		"no-expand-tabs show-notes[= show-linear-break[= disk-usage[= max-age= min-age= timestamp header " +
		"no-commit-header group= creation-factor= no-dual-color"
	gitList = "all verbose[= abbrev[= no-abbrev color[= no-color column[= no-column list contains= no-contains= " +
		"merged= no-merged= points-at= sort= format= ignore-case show-current remotes quiet " +
		"omit-empty"
)

// gitCommand are the commands of git that read, with their options; and those that run, load or
// write by an option, for rules that allow the others.
func gitCommand(name string) program {
	switch name {
	case "log", "show", "whatchanged", "rev-list", "diff-tree", "reflog", "shortlog", "show-branch",
		"range-diff", "diff", "diff-index", "diff-files", "cherry", "stash":
		used := reads
		if name == "stash" {
			used = readsMore
		}
		return program{
			use: used, flags: "puszRabwWrtcmiEFPghqv123e" + digits, values: "GSInUlL", optional: "MCBX", files: "L",
			long: gitLog, check: comparesFolders,
		}
	case "blame", "annotate":
		return program{
			use: reads, flags: "bltcpfnsewk", values: "L", files: "L", optional: "MC",
			long: "root show-name show-number porcelain line-porcelain incremental date= abbrev= since= " +
				"first-parent reverse show-email show-stats score-debug progress no-progress color-lines " +
				"color-by-age minimal",
		}
	case "grep":
		return program{
			use: reads, shows: here, flags: "IaivwhHEGPFnlLcqWpro" + digits, values: "eABCmf", files: "f", texts: 1,
			long: "cached untracked text ignore-case word-regexp invert-match extended-regexp perl-regexp " +
				"fixed-strings line-number files-with-matches name-only count color[= no-color break heading " +
				"show-function after-context= before-context= context= function-context max-count= and or not " +
				"all-match quiet only-matching no-index exclude-standard no-exclude-standard no-textconv " +
				"max-depth= recursive no-recursive full-name basic-regexp column files-without-match null threads=",
		}
	case "status":
		return program{
			use: reads, flags: "sbvz", optional: "uM",
			long: "short branch show-stash porcelain[= long verbose untracked-files[= ignore-submodules[= " +
				"ignored[= ahead-behind no-ahead-behind renames no-renames find-renames[= column[= no-column null",
		}
	case "branch":
		return program{use: reads, flags: "arvqi", texts: all, long: gitList, check: onlyListed}
	case "tag":
		return program{use: reads, flags: "li", optional: "n", texts: all, long: gitList, check: onlyListed}
	case "rev-parse":
		return program{
			use: reads, flags: "q", texts: all,
			long: "abbrev-ref[= all verify quiet short[= show-toplevel show-prefix show-cdup git-dir " +
				"absolute-git-dir git-common-dir is-inside-git-dir is-inside-work-tree is-bare-repository " +
				"symbolic-full-name symbolic is-shallow-repository show-superproject-working-tree git-path " +
				"branches[= tags[= remotes[= revs-only no-revs flags no-flags path-format= show-object-format[= " +
				"local-env-vars",
		}
	case "ls-files":
		return program{
			use: reads, shows: names, flags: "zcdmosuktvf", values: "x",
			long: "cached deleted modified others ignored stage unmerged killed directory exclude= " +
				"exclude-standard error-unmatch full-name no-empty-directory eol deduplicate abbrev[= debug sparse",
		}
	case "ls-tree":
		return program{
			use: reads, shows: names, flags: "dtrlz",
			long: "long name-only name-status object-only full-name full-tree abbrev[=",
		}
	case "cat-file":
		return program{
			use: reads, flags: "tspe", most: 2, long: "batch-check[= batch-all-objects buffer unordered",
		}
	case "check-attr", "check-mailmap", "check-ref-format":
		return program{use: reads, flags: "az", texts: all, long: "all cached stdin branch normalize allow-onelevel"}
	case "for-each-ref", "show-ref", "describe", "name-rev", "merge-base":
		return program{
			use: reads, flags: "qdsa", texts: all,
			long: gitList + " count= head heads tags branches dereference hash[= verify exists contains " +
				"candidates= exact-match long match= exclude= always first-parent octopus independent is-ancestor " +
				"fork-point name-only refs= undefined no-undefined annotate-stdin debug",
		}
	case "count-objects", "version", "var":
		return program{use: reads, flags: "vH", texts: all, long: "verbose human-readable"}
	case "remote":
		return program{use: reads, flags: "v", texts: all, long: "verbose push all", check: oneOf("", "get-url")}
	case "worktree":
		return program{use: readsMore, texts: all, long: "porcelain", check: oneOf("list")}
	case "config":
		return program{
			use: readsMore, flags: "lz", texts: all, most: 2,
			long: "get get-all get-regexp list global local system worktree show-origin show-scope null name-only " +
				"type= bool int bool-or-int path includes no-includes default=",
			check: onlyTold,
		}
	case "hash-object":
		return program{use: readsMore, values: "t", long: "stdin no-filters"}
	case "check-ignore", "symbolic-ref":
		return program{
			use: readsMore, flags: "qvnz", most: 1, texts: all,
			long: "quiet verbose short recurse no-recurse non-matching no-index stdin",
		}
	case "fsck":
		return program{
			use: readsMore, flags: "v", texts: all,
			long: "full no-full strict progress no-progress connectivity-only dangling no-dangling unreachable tags " +
				"root cache no-reflogs name-objects verbose",
		}
	case "bisect":
		return program{use: readsMore, most: 1, texts: all, check: oneOf("log")}
	case "apply":
		return program{use: readsMore, flags: "Rv", values: "p", long: "check stat numstat summary reverse",
			check: onlyIf("applies a patch", "check", "stat", "numstat", "summary")}
	case "clone", "init":
		return program{runs: "--upload-pack --config --template --separate-git-dir", flags: "uc", values: "obj"}
	case "fetch", "pull", "ls-remote", "fetch-pack", "send-pack", "push":
		return program{runs: "--upload-pack --receive-pack --exec --output"}
	case "stripspace":
		return program{use: readsMore, flags: "sc", long: "strip-comments comment-lines"}
	case "notes":
		return program{use: readsMore, texts: all, check: oneOf("list", "show")}
	case "format-patch":
		return program{
			use: readsMore, flags: "nNks" + digits, check: onlyIf("writes patches to files", "stdout"),
			long: "stdout root numbered no-numbered keep-subject subject-prefix= start-number= zero-commit " +
				"no-signature signoff stat[= no-stat no-renames find-renames[= binary full-index no-binary " +
				"ignore-if-in-upstream",
		}
	case "archive":
		return program{
			runs: "--exec --output --output-directory --upload-pack --receive-pack --ext-diff --textconv", flags: "o",
		}
	case "filter-branch":
		return program{
			runs: "--setup --subdirectory-filter --env-filter --tree-filter --index-filter --parent-filter " +
				"--msg-filter --commit-filter --tag-name-filter",
		}
	case "send-email":
		return program{runs: "--sendmail-cmd --smtp-server --to-cmd --cc-cmd --header-cmd --batch-exec"}
	case "rebase":
		return program{runs: "--exec", flags: "x", values: "CXSs"}
	case "difftool":
		return program{runs: "--extcmd --output", flags: "xt", values: "O"}
	case "add", "commit", "merge", "cherry-pick", "revert", "checkout", "switch", "restore", "mv", "rm", "reset":
		return program{}
	}
	return program{
		runs: "--upload-pack --receive-pack --exec --ext-diff --textconv --open-files-in-pager --output " +
			"--output-directory --extcmd --template --show-signature --filters --edit-description",
	}
}

// gitRunning are the options of a command that reads which run or write.
const gitRunning = "--ext-diff --textconv --open-files-in-pager --output --output-directory --show-signature " +
	"--filters --edit-description --exec"

// git judges a call of git: a command that reads, with options that read. What the
// repository's configuration makes of it is the caller's to look at.
func (j *judge) git(p *Part) string {
	args := p.Words[1:]
	for len(args) > 0 && args[0].Known && strings.HasPrefix(args[0].Text, "-") {
		switch {
		case harmlessGitFlag(args[0].Text):
			args = args[1:]
			continue
		case args[0].Text == "-c" && len(args) > 1 && args[1].Known && onlyShowing(args[1].Text):
			args = args[2:]
			continue
		case args[0].Text == "-C" && len(args) > 1 && j.isHere(args[1], p):
			args = args[2:]
			continue
		}
		return "gives `git` the option " + args[0].Text + ", which may change what it runs or where"
	}
	if len(args) == 0 {
		if len(p.Words) > 1 {
			return "" // git --version
		}
		return "runs git"
	}
	name := args[0].Text
	known := gitCommand(name)
	switch {
	case !args[0].Known:
		return "runs a git command that is only known when it runs"
	case known.use < readsMore:
		return "runs `git " + name + "`, which is not known to only read"
	case !j.options.SafeGit:
		return "runs git, which may run what is configured in the repository"
	case p.Moved:
		return "runs git in another folder, whose repository may be another"
	case name == "stash" && (len(args) < 2 || args[1].Text != "list" && args[1].Text != "show"),
		name == "reflog" && len(args) > 1 && (!args[1].Known || slices.Contains([]string{"expire", "delete", "drop",
			"write"}, args[1].Text)):
		return "runs a form of `git " + name + "` that is not known to only read"
	}
	for _, w := range args[1:] {
		switch {
		case rawControls(w) || formatControls(w.Text):
			return controlsTerminal
		case strings.Contains(w.Text, "%G") || strings.Contains(w.Text, "signature") || strings.Contains(w.Text,
			"%(describe") || strings.Contains(w.Text, "trailers"):
			return "gives `git " + name + "` a format that may start a program"
		case j.secretPath(w):
			return tellsProcesses
		}
		// What git is told to look at may be a pattern of its own, whose stars reach over slashes.
		text := w.lead()
		if w.Known {
			text = w.Text
		}
		j.out.Here = j.out.Here || name == "grep" || !strings.HasPrefix(text, "-") && known.texts != all &&
			(strings.ContainsAny(text, `*?[\`) || strings.HasPrefix(text, ":("))
	}
	if slices.Contains(p.Wrappers, "xargs") {
		j.out.Open = true
	}
	return j.use(known, "git "+name, args[1:])
}

// isHere: the folder is the one in which the command runs.
func (j *judge) isHere(w Word, p *Part) bool {
	return !p.Moved && w.Known && (w.Text == "." || w.Text == "./" || path.IsAbs(j.options.Folder) &&
		path.Clean(w.Text) == path.Clean(j.options.Folder))
}

// onlyShowing: a setting of git that changes how it shows things.
func onlyShowing(setting string) bool {
	key, value, _ := strings.Cut(strings.ToLower(setting), "=")
	section, _, _ := strings.Cut(key, ".")
	return strings.Trim(value, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" &&
		(slices.Contains([]string{"color", "advice", "column"}, section) || section == "pager" && value == "false" ||
			key == "core.pager" && value == "cat" ||
			slices.Contains([]string{"core.quotepath", "core.abbrev", "log.date", "log.decorate", "diff.renames",
				"diff.noprefix", "diff.context"}, key))
}

func harmlessGitFlag(text string) bool {
	switch text {
	case "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--no-lazy-fetch",
		"--no-advice", "--version", "--help":
		return true
	}
	return false
}

// formatControls: a format of git's has %x1b, or one of for-each-ref %1b.
func formatControls(format string) bool {
	for i := 0; i+2 < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		code := strings.TrimPrefix(format[i+1:], "x")
		if len(code) < 2 || digit(code[0]) > 15 || digit(code[1]) > 15 {
			continue
		}
		switch n := digit(code[0])*16 + digit(code[1]); {
		case n == 0 || n == '\t' || n == '\n' || n >= 0x1c && n < 0x20: // they separate fields
		case n < ' ' || n == 0x7f, n == 0xc2 && strings.HasPrefix(format[i+1:], "x"):
			return true
		}
	}
	return false
}

// onlyListed: a name that is not there to be matched is one to be made.
func onlyListed(_ *judge, u *invocation) string {
	if len(u.operands) > 0 && !u.has("list", "l") {
		return "makes a branch or tag (`" + u.name + " " + u.operands[0].Text + "`)"
	}
	return ""
}

// oneOf requires one of some words; "" is none at all.
func oneOf(names ...string) func(*judge, *invocation) string {
	return func(_ *judge, u *invocation) string {
		first := ""
		if len(u.operands) > 0 {
			first = u.operands[0].Text
		}
		if slices.Contains(names, first) {
			return ""
		}
		return "runs a form of `" + u.name + "` that is not known to only read"
	}
}

// onlyTold: of git config, one name is read, two are a name and its new value.
func onlyTold(_ *judge, u *invocation) string {
	if !u.has("get", "get-all", "get-regexp", "l", "list") && len(u.operands) != 1 {
		return "may change the configuration of git"
	}
	return ""
}

// GitReads: subcommands that are used for reading, though some of their options write.
func GitReads(sub string) bool { return gitCommand(sub).use >= reads }

// GitRuns says whether the arguments of git, from the first after "git", hold an option that
// has git run a program, load settings or write a file of the caller's choice: before the
// subcommand, and behind it, in each form in which git takes it (abbreviated, glued to its
// value, in a cluster of letters). It is meant for rules that allow a subcommand whatever
// follows. A word that is only known when it runs counts if it may be an option.
func GitRuns(args []Word) bool {
	for len(args) > 0 && (!args[0].Known || strings.HasPrefix(args[0].Text, "-")) {
		if !args[0].Known || !harmlessGitFlag(args[0].Text) {
			return true
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return false
	}
	if len(args) > 1 && gitStarts(args[0].Text, args[1].Text) {
		return true
	}
	known := gitCommand(args[0].Text)
	running, letters, values := known.runs, known.flags, known.values
	if known.use >= readsMore {
		running, letters, values = gitRunning, "", ""
		switch args[0].Text {
		case "grep":
			letters, values = "O", known.values
		case "format-patch":
			letters = "o"
		}
	}
	for _, w := range args[1:] {
		text := w.Text
		if !w.Known {
			text = w.lead()
		}
		switch {
		case w.Known && text == "--":
			return false
		case !w.Known && w.mayBegin('-') && !(w.single() && strings.Contains(text, "=")), strings.HasPrefix(text,
			"--") && abbreviates(text, running), new(Variables).splits(w):
			return true
		case strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--"):
			run, value := strings.IndexAny(text, letters), strings.IndexAny(text, values)
			if run > 0 && (value < 0 || run < value) {
				return true
			}
		}
	}
	return false
}

// gitStarts: a command of git runs what follows this word.
func gitStarts(sub, word string) bool {
	switch sub {
	case "bisect", "hook":
		return word == "run"
	case "submodule":
		return word == "foreach"
	case "for-each-repo":
		return true
	}
	return false
}

// abbreviates: git takes each beginning of a long option that is not the beginning of another
// one; what is too short to tell is taken for it.
func abbreviates(text, options string) bool {
	name, _, _ := strings.Cut(text, "=")
	return len(name) > len("--") && slices.ContainsFunc(strings.Fields(options),
		func(o string) bool { return strings.HasPrefix(o, name) })
}

// GitEnviron is what a command that Judge called read-only with SafeGit has to run with: it
// keeps git from starting what no configuration names (hooks for an index that is written on
// the way, the programs of submodules, fetching what a partial clone lacks).
func GitEnviron() []string {
	return []string{
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "PAGER=cat",
		"GIT_CONFIG_COUNT=5",
		"GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false",
		"GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1=/dev/null",
		"GIT_CONFIG_KEY_2=diff.ignoreSubmodules", "GIT_CONFIG_VALUE_2=all",
		"GIT_CONFIG_KEY_3=log.showSignature", "GIT_CONFIG_VALUE_3=false",
		"GIT_CONFIG_KEY_4=diff.autoRefreshIndex", "GIT_CONFIG_VALUE_4=false",
	}
}

// GitChangesTree reports whether a call of git may change files of the work tree that were there before, by its
// arguments; args are its command and what follows, nil if some of it is only known when it runs or it is about another
// repository. Folder is the one that it goes to first, "" if it stays.
func GitChangesTree(words []Word) (folder string, args []string, changes bool) {
	elsewhere := false
	for len(words) > 0 && words[0].Known && strings.HasPrefix(words[0].Text, "-") {
		switch text := words[0].Text; {
		case harmlessGitFlag(text):
		case text == "-c" && len(words) > 1:
			words = words[1:]
		case text == "-C" && len(words) > 1:
			if folder = path.Join(folder, words[1].Text); path.IsAbs(words[1].Text) {
				folder = path.Clean(words[1].Text)
			}
			elsewhere, words = elsewhere || !words[1].Known, words[1:]
		default:
			elsewhere = true
		}
		words = words[1:]
	}
	if folder == "." {
		folder = ""
	}
	if len(words) == 0 {
		return folder, nil, false
	}
	known := !elsewhere
	for _, w := range words {
		known = known && w.Known
		args = append(args, w.Text)
	}
	has := func(options ...string) bool {
		return slices.ContainsFunc(args[1:], func(a string) bool { return slices.Contains(options, a) })
	}
	switch args[0] {
	case "checkout", "switch", "merge", "rebase", "pull", "cherry-pick", "revert", "am", "restore":
		changes = !has("--abort", "--quit", "--help", "-h") && !(args[0] == "restore" && has("--staged", "-S") &&
			!has("--worktree", "-W"))
	case "reset":
		changes = slices.ContainsFunc(args[1:], func(a string) bool { return abbreviates(a, "--hard --merge --keep") })
	case "stash":
		changes = len(args) == 1 || slices.Contains([]string{"pop", "apply", "push", "save"}, args[1]) ||
			strings.HasPrefix(args[1], "-")
	case "apply":
		changes = !has("--check", "--stat", "--numstat", "--summary", "--cached")
	case "read-tree":
		changes = has("-u")
	case "checkout-index":
		changes = true
	case "remote": // it removes what was fetched from there before it writes its config
		changes = len(args) > 1 && (args[1] == "remove" || args[1] == "rm")
	}
	if !known {
		args = nil
	}
	return folder, args, changes
}

// Words are arguments as a program has them.
func Words(args []string) []Word {
	words := make([]Word, len(args))
	for i, arg := range args {
		words[i] = Word{Text: arg, Known: true}
	}
	return words
}
