package reader

import (
	"path"
	"strings"
)

// Options that git's commands share. What starts other programs (--ext-diff, --textconv,
// --show-signature, -O of grep, --upload-pack) and what writes (--output) is not among them.
const (
	gitDiffFlags  = "puszRabwWrtcm"
	gitDiffValues = "GSIO"
	gitDiffLong   = "patch no-patch raw patch-with-raw indent-heuristic no-indent-heuristic minimal patience histogram anchored= diff-algorithm= stat[= compact-summary numstat shortstat dirstat[= cumulative dirstat-by-file[= summary patch-with-stat name-only name-status color[= no-color color-moved[= no-color-moved color-moved-ws= word-diff[= word-diff-regex= color-words[= no-renames no-rename-empty rename-empty check ws-error-highlight= full-index binary abbrev[= break-rewrites[= find-renames[= find-copies[= find-copies-harder irreversible-delete diff-filter= pickaxe-all pickaxe-regex skip-to= rotate-to= relative[= no-relative text ignore-cr-at-eol ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines= inter-hunk-context= function-context exit-code quiet no-ext-diff no-textconv ignore-submodules[= src-prefix= dst-prefix= no-prefix default-prefix line-prefix= ita-invisible-in-index unified= diff-merges= no-diff-merges cc combined-all-paths output-indicator-new= output-indicator-old= output-indicator-context= merge-base"
	gitLogLong    = "follow no-decorate decorate[= decorate-refs= decorate-refs-exclude= source mailmap no-mailmap use-mailmap log-size max-count= skip= since= after= until= before= author= committer= grep-reflog= grep= all-match invert-grep regexp-ignore-case basic-regexp extended-regexp fixed-strings perl-regexp remove-empty merges no-merges min-parents= max-parents= no-min-parents no-max-parents first-parent exclude-first-parent-only not all branches[= tags[= remotes[= glob= exclude= reflog ignore-missing stdin cherry-mark cherry-pick left-only right-only cherry walk-reflogs merge boundary simplify-by-decoration show-pulls full-history dense sparse simplify-merges ancestry-path[= date-order author-date-order topo-order reverse no-walk[= do-walk pretty[= format= abbrev-commit no-abbrev-commit oneline encoding= expand-tabs[= no-expand-tabs notes[= no-notes show-notes[= date= relative-date parents children left-right graph no-graph show-linear-break[= count full-diff"
)

// git judges a call of git: a command that reads, with options that read. What the
// repository's configuration makes of it is the caller's to look at.
func (j *judge) git(args []arg, p *Part) string {
	for len(args) > 0 && args[0].known && strings.HasPrefix(args[0].text, "-") {
		switch args[0].text {
		case "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--no-lazy-fetch", "--no-advice":
			args = args[1:]
			continue
		case "-C":
			if len(args) > 1 && j.isHere(args[1], p) {
				args = args[2:]
				continue
			}
		case "-c":
			if len(args) > 1 && args[1].known && harmlessSetting(args[1].text) {
				args = args[2:]
				continue
			}
		case "--version":
			return ""
		}
		return "gives `git` the option " + args[0].text + ", which may change what it runs or where"
	}
	if len(args) == 0 || !args[0].known {
		return "runs a git command that is only known when it runs"
	}
	name := args[0].text
	if name == "version" && len(args) == 1 {
		return ""
	}
	s, ok := gitCommand(name)
	if !ok {
		return "runs `git " + name + "`, which is not known to only read"
	}
	if name == "stash" && (len(args) < 2 || !args[1].known || args[1].text != "list" && args[1].text != "show") {
		return "runs a form of `git stash` that is not known to only read"
	}
	if !j.options.SafeGit {
		return "runs git, which may run what is configured in the repository"
	}
	if p.Moved {
		return "runs git in another folder, whose repository may be another"
	}
	check := s.check
	s.check = func(j *judge, c *call) string {
		if why := gitFormats(c); why != "" {
			return why
		}
		j.gitPaths(c)
		if check != nil {
			return check(j, c)
		}
		return ""
	}
	return j.use(s, "git "+name, args[1:], p)
}

// isHere: the folder is the one in which the command runs.
func (j *judge) isHere(a arg, p *Part) bool {
	if p.Moved || !a.known {
		return false
	}
	return a.text == "." || a.text == "./" || path.IsAbs(j.options.Folder) && path.Clean(a.text) == path.Clean(j.options.Folder)
}

// harmlessSetting: key=value of git's configuration that changes how it shows things.
func harmlessSetting(text string) bool {
	key, value, found := strings.Cut(text, "=")
	if !found {
		value = "true"
	}
	key, value = strings.ToLower(key), strings.ToLower(value)
	if !isPlain(value) {
		return false
	}
	switch section, _, _ := strings.Cut(key, "."); section {
	case "color", "advice", "column":
		return true
	case "pager":
		return value == "false" || value == "cat"
	}
	switch key {
	case "core.pager":
		return value == "cat"
	case "core.quotepath", "core.abbrev", "core.precomposeunicode", "log.date", "log.decorate", "log.abbrevcommit", "log.follow",
		"diff.renames", "diff.renamelimit", "diff.noprefix", "diff.mnemonicprefix", "diff.algorithm", "diff.context", "diff.interhunkcontext",
		"diff.colormoved", "diff.wserrorhighlight", "diff.indentheuristic", "status.short", "status.branch", "status.relativepaths", "status.renames",
		"status.showuntrackedfiles", "grep.linenumber", "grep.column", "grep.patterntype", "grep.fullname", "blame.date", "blame.showemail",
		"i18n.logoutputencoding":
		return true
	}
	return false
}

func isPlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-:, ", r))
	})
}

// gitFormats: a format may ask for a signature to be checked, which starts gpg.
func gitFormats(c *call) string {
	for _, v := range c.valuesOf("format", "pretty", "sort", "batch-check", "batch", "date") {
		if v.known && formatControls(v.text) {
			return controlsTerminal
		}
		if !v.known || strings.Contains(v.text, "%G") || strings.Contains(v.text, "signature") || strings.Contains(v.text, "%(describe") || strings.Contains(v.text, "trailers") && strings.Contains(v.text, "cmd") {
			return "gives `" + c.name + "` a format that may start gpg"
		}
	}
	return ""
}

// gitPaths notes the files in words like HEAD:name and :(top)name, and in those of -L.
func (j *judge) gitPaths(c *call) {
	note := func(name string) {
		if name != "" {
			j.reads = append(j.reads, name)
		}
	}
	for _, a := range c.operands {
		if _, name, found := strings.Cut(a.text, ":"); a.known && found {
			note(name)
			if magic, rest, long := strings.Cut(name, ")"); long && strings.HasPrefix(magic, "(") {
				note(rest)
			}
			note(strings.TrimLeft(name, "/"))
		}
	}
	for _, v := range c.valuesOf("L") {
		for _, text := range j.partsOf(v) {
			if i := strings.LastIndexByte(text, ':'); i >= 0 {
				note(text[i+1:])
			}
		}
		j.open = j.open || !v.known
	}
}

func gitCommand(name string) (spec, bool) {
	log := spec{flags: gitDiffFlags + "iEFPgh", values: gitDiffValues + "nULl", optional: "MCBX", numbers: true, most: many, long: gitDiffLong + " " + gitLogLong, open: true}
	diff := spec{flags: gitDiffFlags + "q123", values: gitDiffValues + "Ul", optional: "MCBX", numbers: true, most: many, long: gitDiffLong + " cached staged no-index base ours theirs root stdin no-commit-id pretty[= always merge-base", open: true}
	switch name {
	case "log", "show", "whatchanged", "rev-list", "diff-tree", "show-branch":
		if name == "rev-list" {
			log.long += " objects disk-usage[= max-age= min-age= use-bitmap-index timestamp header no-commit-header"
		}
		if name == "diff-tree" {
			log.long += " no-commit-id root always"
		}
		return log, true
	case "diff", "diff-index", "diff-files":
		return diff, true
	case "range-diff":
		return spec{most: 3, long: "no-color color[= creation-factor= no-dual-color stat left-only right-only no-patch", numbers: true, open: true}, true
	case "reflog":
		log.check = func(_ *judge, c *call) string {
			if len(c.operands) > 0 && c.operands[0].known {
				switch c.operands[0].text {
				case "expire", "delete", "drop", "write":
					return "changes the log of references"
				}
			} else if len(c.operands) > 0 {
				return "runs a git command that is only known when it runs"
			}
			return ""
		}
		return log, true
	case "stash":
		return log, true // git looks at what comes first
	case "shortlog":
		return spec{flags: "nsec", optional: "w", most: many, long: "numbered summary email committer group= format= all since= until= after= before= no-merges merges author="}, true
	case "status":
		return spec{flags: "sbvz", optional: "uM", most: many, long: "short branch show-stash porcelain[= long verbose untracked-files[= ignore-submodules[= ignored[= column[= no-column ahead-behind no-ahead-behind renames no-renames find-renames[= null"}, true
	case "blame", "annotate":
		return spec{flags: "bltcpfnsewk", values: "LS", files: "contents S", optional: "MC", most: many, open: true, long: "root show-stats score-debug show-name show-number porcelain line-porcelain incremental encoding= contents= date= progress no-progress ignore-rev= color-lines color-by-age minimal abbrev= since= first-parent reverse show-email"}, true
	case "grep":
		return spec{flags: "IaivwhHEGPFnlLcqWpr", values: "efABCm", files: "f", numbers: true, most: many, open: true, long: "cached untracked no-index no-exclude-standard exclude-standard recurse-submodules text ignore-case no-textconv max-depth= recursive no-recursive word-regexp invert-match full-name extended-regexp basic-regexp perl-regexp fixed-strings line-number column files-with-matches name-only files-without-match null only-matching count color[= no-color break heading show-function after-context= before-context= context= function-context max-count= threads= and or not all-match quiet"}, true
	}
	if s, ok := gitPatches(name); ok {
		return s, true
	}
	return gitNames(name)
}

// firstIs requires one of some subcommands.
func firstIs(c *call, names ...string) string {
	if len(c.operands) > 0 && c.operands[0].known {
		for _, n := range names {
			if c.operands[0].text == n {
				return ""
			}
		}
	}
	return "runs a form of `" + c.name + "` that is not known to only read"
}

// gitNames are the commands that tell names and identities.
func gitNames(name string) (spec, bool) {
	list := "all verbose[= quiet abbrev[= no-abbrev color[= no-color column[= no-column list contains? no-contains? merged? no-merged? points-at= sort= format= ignore-case show-current remotes omit-empty"
	switch name {
	case "branch":
		return spec{flags: "arvqi", most: many, texts: many, long: list, check: onlyListed}, true
	case "tag":
		return spec{flags: "li", optional: "n", most: many, texts: many, long: list, check: onlyListed}, true
	case "rev-parse":
		return spec{
			flags: "q", most: many, texts: many,
			long: "abbrev-ref[= all verify quiet short[= show-toplevel show-prefix show-cdup show-superproject-working-tree git-dir absolute-git-dir git-common-dir git-path? is-inside-git-dir is-inside-work-tree is-bare-repository is-shallow-repository symbolic symbolic-full-name branches[= tags[= remotes[= revs-only no-revs flags no-flags sq not local-env-vars since= until= path-format= show-object-format[= show-ref-format end-of-options",
		}, true
	case "ls-files":
		return spec{flags: "zcdmosuktvf", values: "xX", files: "X", most: many, long: "cached deleted modified others ignored stage unmerged killed directory no-empty-directory eol deduplicate exclude= exclude-standard error-unmatch full-name abbrev[= debug format= sparse recurse-submodules"}, true
	case "ls-tree":
		return spec{flags: "dtrlz", most: many, long: "long name-only name-status object-only full-name full-tree abbrev[= format="}, true
	case "cat-file":
		return spec{flags: "tspe", most: 2, open: true, long: "batch[= batch-check[= batch-all-objects buffer unordered follow-symlinks allow-unknown-type"}, true
	case "for-each-ref":
		return spec{most: many, texts: many, long: "count= format= sort= points-at= merged? no-merged? contains? no-contains? ignore-case omit-empty color[= exclude= include-root-refs"}, true
	case "show-ref":
		return spec{flags: "qds", most: many, texts: many, long: "head heads tags branches dereference hash[= verify exists abbrev[= quiet"}, true
	case "symbolic-ref":
		return spec{flags: "q", most: 1, texts: many, long: "short quiet recurse no-recurse"}, true
	case "describe":
		return spec{most: many, texts: many, long: "all tags contains abbrev= candidates= exact-match debug long match= exclude= always first-parent"}, true
	case "name-rev":
		return spec{most: many, texts: many, long: "tags refs= exclude= all name-only always no-undefined annotate-stdin"}, true
	case "merge-base":
		return spec{flags: "a", most: many, texts: many, long: "all octopus independent is-ancestor fork-point"}, true
	case "cherry":
		return spec{flags: "v", most: 3, texts: many, long: "verbose abbrev[="}, true
	case "count-objects":
		return spec{flags: "vH", long: "verbose human-readable"}, true
	case "check-ignore", "check-attr", "check-ref-format", "check-mailmap":
		return spec{flags: "qvnaz", most: many, long: "quiet verbose stdin non-matching no-index all cached source= branch normalize allow-onelevel"}, true
	case "remote":
		return spec{flags: "v", most: 2, texts: many, long: "verbose push all", check: func(_ *judge, c *call) string {
			if len(c.operands) == 0 {
				return ""
			}
			return firstIs(c, "get-url")
		}}, true
	case "worktree":
		return spec{flags: "vz", most: 1, texts: many, long: "porcelain verbose", check: func(_ *judge, c *call) string { return firstIs(c, "list") }}, true
	case "notes":
		return spec{most: 2, texts: many, check: func(_ *judge, c *call) string { return firstIs(c, "list", "show") }}, true
	case "config":
		return spec{
			flags: "lz", values: "", most: 2, texts: many,
			long:  "get get-all get-regexp get-urlmatch list global local system worktree show-origin show-scope null name-only type= bool int bool-or-int path includes no-includes default=",
			check: gitConfig,
		}, true
	}
	return spec{}, false
}

// onlyListed: a name that is not there to be matched is one to be made.
func onlyListed(_ *judge, c *call) string {
	if len(c.operands) > 0 && !c.has("list", "l") {
		return "makes a branch or tag (`" + c.name + " " + c.operands[0].shown() + "`)"
	}
	return ""
}

// gitConfig: one name is read, two are a name and its new value.
func gitConfig(_ *judge, c *call) string {
	reads := c.has("get", "get-all", "get-regexp", "get-urlmatch", "l", "list")
	if !reads && len(c.operands) != 1 || len(c.operands) == 1 && !c.operands[0].single {
		return "may change the configuration of git"
	}
	for _, a := range c.operands {
		if !a.single {
			return "may change the configuration of git"
		}
	}
	return ""
}
