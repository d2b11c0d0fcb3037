package reader

import (
	"slices"
	"strings"
)

// search are programs that look for text and files.
func search(name string) (spec, bool) {
	switch name {
	case "grep", "egrep", "fgrep":
		return spec{
			flags: "EFGPiyvwxcLlqsbHhnTZzaIrRUuVo", values: "efmABCDd", numbers: true, most: many, texts: 1, harmless: true, files: "f file",
			long:  "extended-regexp fixed-strings basic-regexp perl-regexp regexp= file= ignore-case no-ignore-case word-regexp line-regexp null-data no-messages invert-match version help max-count= byte-offset line-number line-buffered with-filename no-filename label= only-matching quiet silent binary-files= text directories= devices= recursive dereference-recursive include= exclude= exclude-from= exclude-dir= files-without-match files-with-matches count initial-tab null before-context= after-context= context= group-separator= no-group-separator color[= colour[= binary unix-byte-offsets",
			check: grep,
		}, true
	case "rg":
		return spec{
			flags: "abcFHhiIlLNnoPpqSsUuvVwx0.", values: "ABCEefgjMmrtTd", most: many, texts: 1, files: "f file ignore-file", open: true,
			long:  "after-context= before-context= context= auto-hybrid-regex binary block-buffered byte-offset case-sensitive color= colors= column count count-matches crlf debug dfa-size-limit= encoding= engine= field-context-separator= field-match-separator= file= files files-with-matches files-without-match fixed-strings follow glob= glob-case-insensitive heading hidden iglob= ignore-case ignore-file= include-zero invert-match json line-buffered line-number line-regexp max-columns= max-columns-preview max-count= max-depth= maxdepth= max-filesize= mmap multiline multiline-dotall no-config no-filename no-heading no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global no-ignore-messages no-ignore-parent no-ignore-vcs no-line-number no-messages no-mmap no-unicode no-hidden null null-data one-file-system only-matching passthru path-separator= pcre2 pretty quiet regex-size-limit= regexp= replace= smart-case sort= sortr= stats text threads= trim type= type-not= type-list unrestricted version help vimgrep with-filename word-regexp",
			check: noControls("field-context-separator", "field-match-separator", "path-separator"),
		}, true
	case "fd", "fdfind":
		return spec{flags: "HIsigapLFu10lq", values: "dtecESj", most: many, texts: 1, open: true, long: "hidden no-ignore case-sensitive ignore-case glob absolute-path full-path follow fixed-strings max-depth= min-depth= exact-depth= type= extension= color= exclude= size= changed-within= changed-before= print0 list-details max-results= quiet version help"}, true
	}
	return spec{}, false
}

// grep: with -r it reads all below a folder, and with -e its first operand is a file.
func grep(j *judge, c *call) string {
	if c.has("r", "R", "recursive", "dereference-recursive", "d", "directories", "f", "file", "exclude-from") {
		j.open = true
	}
	if c.has("e", "regexp", "f", "file") && len(c.operands) > 0 {
		j.mayRead(c.operands[0])
	}
	if c.has("r", "R", "recursive", "dereference-recursive") {
		return rooted(c.operands)
	}
	return ""
}

// rooted refuses what walks the whole machine: that would come through /proc.
func rooted(names []arg) string {
	for _, a := range names {
		for _, t := range append([]string{a.text}, a.texts...) {
			if t != "" && strings.Trim(t, "/.") == "" && (t[0] == '/' || strings.Count(t, "..") > 2) {
				return "may tell the environment of processes (" + t + ")"
			}
		}
	}
	return ""
}

// findFiles judges find: all its words are options of a kind of their own, so each has to be
// known, and -exec is judged by what it runs.
func findFiles(j *judge, args []arg) string {
	i := 0
	for i < len(args) && (args[i].known && slices.Contains([]string{"-L", "-H", "-P", "-E", "-X", "-x", "-s"}, args[i].text)) {
		i++
	}
	var from []arg
	for ; i < len(args); i++ {
		a := args[i]
		if a.known && (strings.HasPrefix(a.text, "-") || a.text == "!" || a.text == "(") {
			break
		}
		if !a.known && (a.dash || strings.HasPrefix(a.written, "!") || strings.HasPrefix(a.written, "(")) {
			return "gives `find` " + a.written + ", which may become an expression"
		}
		from = append(from, a)
	}
	if why := rooted(from); why != "" {
		return why
	}
	for _, a := range from {
		j.mayRead(a)
	}
	for ; i < len(args); i++ {
		a := args[i]
		if !a.known {
			return "gives `find` " + a.written + ", which may become an expression"
		}
		if strings.HasPrefix(a.text, "-newer") && len(a.text) <= len("-newerXY") {
			i++
			if i >= len(args) || !args[i].single {
				return "gives `find " + a.text + "` a value that is only known when it runs"
			}
			j.mayRead(args[i])
			continue
		}
		switch a.text {
		case "-print", "-print0", "-ls", "-prune", "-depth", "-d", "-xdev", "-mount", "-follow", "-daystart", "-noleaf", "-empty",
			"-readable", "-writable", "-executable", "-true", "-false", "-not", "-and", "-a", "-or", "-o", "!", "(", ")", ",",
			"-quit", "-nouser", "-nogroup", "-nowarn", "-warn", "-ignore_readdir_race":
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-regextype", "-type", "-xtype",
			"-size", "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin", "-maxdepth", "-mindepth", "-perm", "-user", "-group",
			"-uid", "-gid", "-inum", "-links", "-samefile", "-lname", "-ilname", "-fstype", "-used", "-printf":
			i++
			if i >= len(args) || !args[i].single {
				return "gives `find " + a.text + "` a value that is only known when it runs"
			}
			if a.text == "-printf" && slices.ContainsFunc(j.partsOf(args[i]), controlsButNull) {
				return controlsTerminal
			}
		case "-exec":
			j.open = true
			if slices.ContainsFunc(from, func(a arg) bool { return a.at }) {
				return "may hand on names that begin with @, which are files of options to some programs"
			}
			for i++; i < len(args) && !(args[i].known && (args[i].text == ";" || args[i].text == "+")); i++ {
			}
		default:
			return "gives `find` " + a.text + ", which is not known to only read"
		}
	}
	return ""
}

// feed judges xargs with options; what it runs is a part of its own.
func feed(j *judge, args []arg) string {
	j.open = true
	s, _ := carrierOf("xargs")
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !a.known && a.dash {
			return "gives `xargs` " + a.written + ", which may become an option"
		}
		if !a.known || !strings.HasPrefix(a.text, "-") || a.text == "-" {
			return ""
		}
		if a.text == "--" {
			return ""
		}
		if strings.ContainsAny(a.text, "po") && !strings.HasPrefix(a.text, "--") && !strings.HasPrefix(a.text, "-I") && !strings.HasPrefix(a.text, "-d") || a.text == "--open-tty" {
			return "gives `xargs` the option " + a.text + ", which is not known to only read"
		}
		takes, ok := s.option(a.text)
		if !ok {
			return "gives `xargs` the option " + a.text + ", which is not known to only read"
		}
		if takes {
			i++
		}
	}
	return ""
}
