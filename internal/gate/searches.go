package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/gate/reader"
)

// searched notes what grep and its like search.
func (w *walker) searched(name string, args []reader.Word, feeds, fed bool) {
	o := searchOptions(name, args)
	if o.lists && !feeds {
		return // it says where something is, and no more
	}
	var may func(string) bool
	if !strings.HasSuffix(name, "grep") && !o.hidden {
		may = func(name string) bool { return !strings.HasPrefix(name, ".") }
	}
	if len(o.include) > 0 { // which rg prefers to all else
		may = func(name string) bool {
			return slices.ContainsFunc(o.include, func(g string) bool { return globTakes(g, name) })
		}
	}
	for _, op := range o.operands {
		for _, s := range w.speller().spell(op) {
			w.from(may, s)
		}
	}
	if !o.sure || len(o.operands) == 0 && o.walks && !fed {
		w.from(may, spelling{text: "."})
	}
	if feeds && !fed && !o.walks && !o.lists && len(o.operands) > 0 {
		w.here()
	}
}

type searching struct {
	operands []reader.Word // without what is searched for
	include  []string
	walks    bool // it goes through folders
	lists    bool // it says names only
	hidden   bool // what begins with a dot too
	sure     bool
}

// glob notes which files rg takes, or, with an exclamation mark, does not.
func (o *searching) glob(g string) {
	if !strings.HasPrefix(g, "!") {
		o.include = append(o.include, path.Base(g))
	}
}

// searchOptions takes the words of a search apart. What it does not know makes it unsure.
func searchOptions(name string, args []reader.Word) searching {
	values, patterns, isGrep := "efmABCDd", 1, strings.HasSuffix(name, "grep")
	switch {
	case name == "rg":
		values = "ABCEefgjMmrtTd"
	case !isGrep:
		values = "dtecESj"
	}
	o := searching{sure: true, walks: !isGrep}
	ended := false
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		switch {
		case ended || !args[i].Known || len(text) < 2 || text[0] != '-':
			o.operands = append(o.operands, args[i])
		case text == "--":
			ended = true
		case text[1] == '-':
			long, value, glued := strings.Cut(text[2:], "=")
			o.walks = o.walks || strings.HasSuffix(long, "recursive") || long == "directories"
			o.lists = o.lists || strings.HasPrefix(long, "files-")
			switch {
			case long == "regexp" || long == "file" || long == "files":
				patterns = 0
			case long == "include" && glued:
				o.include = append(o.include, value)
			case strings.HasSuffix(long, "glob") && !glued && i+1 < len(args):
				o.glob(args[i+1].Text)
			case strings.HasSuffix(long, "glob"):
				o.glob(value)
			case long == "hidden", strings.HasPrefix(long, "unrestricted"), strings.HasPrefix(long, "no-ignore"):
				o.hidden = true
			}
			if !glued && long != "" && slices.Contains(longValues(), long) {
				i++
			} else if !glued && !slices.Contains(longFlags(), long) {
				o.sure = false
			}
		default:
			for k := 1; k < len(text); k++ {
				if strings.IndexByte(values, text[k]) < 0 {
					o.walks = o.walks || isGrep && (text[k] == 'r' || text[k] == 'R')
					o.lists = o.lists || text[k] == 'l' && (isGrep || name == "rg")
					o.hidden = o.hidden || strings.IndexByte(".uH", text[k]) >= 0
					continue
				}
				if isGrep && text[k] == 'd' {
					o.walks = true
				}
				if name != "fd" && name != "fdfind" && (text[k] == 'e' || text[k] == 'f') {
					patterns = 0
				}
				value := text[k+1:]
				if value == "" && i+1 < len(args) {
					value = args[i+1].Text
				}
				if name == "rg" && text[k] == 'g' {
					o.glob(value)
				}
				if k == len(text)-1 {
					i++
				}
				break
			}
		}
	}
	o.operands = o.operands[min(patterns, len(o.operands)):]
	return o
}

// longValues are options of searches whose value may be the next word.
func longValues() []string {
	return []string{
		"after-context", "before-context", "context", "max-count", "regexp", "file", "glob", "iglob", "type", "type-not", "max-depth", "maxdepth", "min-depth",
		"max-columns", "max-filesize", "threads", "sort", "sortr", "replace", "include", "exclude", "exclude-dir", "exclude-from", "ignore-file", "engine", "encoding",
		"label", "extension", "size", "changed-within", "changed-before", "max-results", "directories", "devices", "binary-files", "group-separator",
	}
}

// longFlags are options of searches without a value.
func longFlags() []string {
	return []string{
		"recursive", "dereference-recursive", "ignore-case", "line-number", "no-line-number", "files-with-matches", "files-without-match", "files", "count", "word-regexp",
		"line-regexp", "no-messages", "with-filename", "no-filename", "only-matching", "fixed-strings", "extended-regexp", "perl-regexp", "pcre2", "invert-match", "hidden", "no-ignore",
		"no-ignore-vcs", "heading", "no-heading", "color", "colour", "follow", "vimgrep", "text", "null", "quiet", "smart-case", "case-sensitive", "unrestricted", "column",
		"multiline", "stats", "trim", "json", "absolute-path", "full-path", "print0", "no-config", "binary", "version", "help",
	}
}
