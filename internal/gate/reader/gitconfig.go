package reader

import (
	"strings"
)

// GitConfigArgs are the arguments for git with which a repository's configuration is asked
// for, in a way that runs nothing of it. HarmfulGitConfig reads the answer.
func GitConfigArgs() []string {
	return []string{"--no-pager", "config", "--list", "--includes", "--show-scope", "-z"}
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

// HarmfulGitConfig reads the output of git with GitConfigArgs and returns the first key by
// which the repository could make git run something when it only reads; "" if there is none.
// What the user and the system configured is theirs. Keys that are not known count as
// harmful, and so does output that cannot be read.
func HarmfulGitConfig(list []byte) string {
	fields := strings.Split(string(list), "\x00")
	if len(fields) == 1 && fields[0] == "" {
		return ""
	}
	if len(fields)%2 != 1 || fields[len(fields)-1] != "" {
		return "what git says of its configuration"
	}
	for i := 0; i+1 < len(fields); i += 2 {
		key, value, has := strings.Cut(fields[i+1], "\n")
		if !has {
			value = "true"
		}
		if scope := fields[i]; scope != "system" && scope != "global" && HarmfulGitKey(key, value) {
			return key
		}
	}
	return ""
}

// HarmfulGitKey tells whether a key that a repository configures could make git run
// something, or go elsewhere, when it only reads. Keys are as git lists them: sections and
// names in small letters.
func HarmfulGitKey(key, value string) bool {
	section, name := key, ""
	if k := strings.IndexByte(key, '.'); k >= 0 {
		section = key[:k]
	}
	if k := strings.LastIndexByte(key, '.'); k >= 0 {
		name = key[k+1:]
	}
	section, name = strings.ToLower(section), strings.ToLower(name)
	off := value == "" || strings.EqualFold(value, "false") || strings.EqualFold(value, "no") || strings.EqualFold(value, "off") || value == "0"
	on := strings.EqualFold(value, "true") || strings.EqualFold(value, "yes") || strings.EqualFold(value, "on") || value == "1"
	switch section {
	case "core":
		return harmfulCore(name, off)
	case "user", "author", "committer", "branch", "init", "push", "pull", "rebase", "advice", "color", "column", "commit", "tag",
		"fetch", "gc", "pack", "repack", "rerere", "stash", "checkout", "clone", "i18n", "am", "apply", "versionsort", "index", "gui", "blame", "lfs", "github", "gh-resolved", "vscode-merge-base":
		return name == "gpgprogram" || name == "gpgsign" && !off && section == "" || name == "packobjectshook"
	case "remote":
		switch name {
		case "url", "pushurl", "fetch", "push", "mirror", "prune", "prunetags", "tagopt", "skipdefaultupdate", "skipfetchall", "gh-resolved", "lfsurl", "pushdefault":
			return false
		}
		return true
	case "url", "credential", "http", "https":
		return false // only those that reach somebody look at them, and none that reads does
	case "merge":
		return name == "driver" || name == "tool"
	case "diff":
		switch name {
		case "renames", "renamelimit", "algorithm", "mnemonicprefix", "noprefix", "context", "interhunkcontext", "colormoved", "colormovedws",
			"indentheuristic", "wserrorhighlight", "relative", "statgraphwidth", "statnamewidth", "suppressblankempty", "wordregex", "xfuncname", "funcname",
			"autorefreshindex", "ignoresubmodules", "dirstat", "srcprefix", "dstprefix", "binary":
			return false
		}
		return true
	case "log":
		return name == "showsignature" && !off || name == "diffmerges"
	case "format", "pretty":
		return strings.Contains(value, "%G")
	case "status":
		return name == "submodulesummary" && !off
	case "grep":
		return name == "fallbacktonoindex"
	case "pager":
		return !on && !off
	case "extensions":
		return name == "partialclone"
	case "alias":
		return false // they cannot replace git's own commands, and others are not read-only
	case "safe":
		return false // ignored where a repository says it
	}
	return true
}

func harmfulCore(name string, off bool) bool {
	switch name {
	case "repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks", "autocrlf",
		"eol", "safecrlf", "quotepath", "abbrev", "compression", "loosecompression", "bigfilethreshold", "untrackedcache", "preloadindex", "sparsecheckout",
		"sparsecheckoutcone", "fscache", "longpaths", "trustctime", "checkstat", "protecthfs", "protectntfs", "commitgraph",
		"multipackindex", "hidedotfiles", "sharedrepository", "splitindex", "whitespace", "notesref", "excludesfile", "commentchar",
		"packedgitlimit", "packedgitwindowsize", "deltabasecachelimit", "warnambiguousrefs", "checkroundtripencoding", "createobject", "fsync", "fsyncmethod", "fsyncobjectfiles":
		return false
	case "fsmonitor":
		return !off
	}
	return true
}
