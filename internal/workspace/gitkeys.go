package workspace

import "strings"

// harmful tells whether a key that a repository configures could make git run
// something, or go elsewhere, when it only reads. Keys are as git lists them: sections and
// names in small letters.
func harmful(key, value string) bool {
	section, name := key, ""
	if k := strings.IndexByte(key, '.'); k >= 0 {
		section = key[:k]
	}
	if k := strings.LastIndexByte(key, '.'); k >= 0 {
		name = key[k+1:]
	}
	section, name = strings.ToLower(section), strings.ToLower(name)
	off := value == "" || strings.EqualFold(value, "false") || strings.EqualFold(value, "no") ||
		strings.EqualFold(value, "off") || value == "0"
	on := strings.EqualFold(value, "true") || strings.EqualFold(value, "yes") || strings.EqualFold(value, "on") ||
		value == "1"
	switch section {
	case "core":
		return harmfulCore(name, value, on || off)
	case "user", "author", "committer", "branch", "init", "push", "pull", "rebase", "advice", "color", "column",
		"commit", "tag",
		"fetch", "gc", "pack", "repack", "rerere", "stash", "checkout", "clone", "i18n", "am", "apply", "versionsort",
		"index", "gui", "blame", "lfs", "github", "gh-resolved", "vscode-merge-base":
		return name == "gpgprogram" || name == "gpgsign" && !off && section == "" || name == "packobjectshook"
	case "remote":
		switch name {
		case "url", "pushurl", "fetch", "push", "mirror", "prune", "prunetags", "tagopt", "skipdefaultupdate",
			"skipfetchall", "gh-resolved", "lfsurl", "pushdefault":
			return false
		}
		return true
	case "url", "credential", "http", "https":
		return false // only those that reach somebody look at them, and none that reads does
	case "merge":
		return name == "driver" || name == "tool"
	case "diff":
		switch name {
		case "renames", "renamelimit", "algorithm", "mnemonicprefix", "noprefix", "context", "interhunkcontext",
			"colormoved", "colormovedws",
			"indentheuristic", "wserrorhighlight", "relative", "statgraphwidth", "statnamewidth", "suppressblankempty",
			"wordregex", "xfuncname", "funcname",
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

// harmfulCore judges the core section. Hooks are switched off for the commands that this is
// asked for, so where they are does not matter.
func harmfulCore(name, value string, boolean bool) bool {
	switch name {
	case "repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode",
		"symlinks", "autocrlf",
		"eol", "safecrlf", "quotepath", "abbrev", "compression", "loosecompression", "bigfilethreshold",
		"untrackedcache", "preloadindex", "sparsecheckout",
		"sparsecheckoutcone", "fscache", "longpaths", "trustctime", "checkstat", "protecthfs", "protectntfs",
		"commitgraph",
		"multipackindex", "hidedotfiles", "sharedrepository", "splitindex", "whitespace", "notesref", "excludesfile",
		"commentchar",
		"packedgitlimit", "packedgitwindowsize", "deltabasecachelimit", "warnambiguousrefs", "checkroundtripencoding",
		"createobject", "fsync", "fsyncmethod", "fsyncobjectfiles":
		return false
	case "hookspath":
		return false
	case "fsmonitor":
		return !boolean
	case "pager":
		return value != "" && value != "cat"
	}
	return true
}
