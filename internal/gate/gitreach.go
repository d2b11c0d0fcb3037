package gate

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/gate/reader"
)

// git reads what it keeps itself. That may be a hidden file if somebody has given it one, and what is
// in it now is masked in what comes out; so it is only asked about where others read it first. What
// it is told to look at, by name or by pattern, and what its grep goes through are files.
func (w *walker) git(args []reader.Word, feeds bool) {
	at := gitSubcommand(args)
	if at == len(args) {
		w.names(args...)
		return
	}
	rest := args[at+1:]
	end := slices.IndexFunc(rest, func(a reader.Word) bool { return a.Text == "--" })
	if args[at].Text == "grep" {
		w.gitGrep(rest, end)
		if feeds {
			w.here()
		}
		return
	}
	named := rest
	if end >= 0 && end+1 < len(rest) {
		named = rest[end+1:]
	}
	w.names(named...)
	for _, a := range named {
		w.pathspec(a, false)
	}
	if feeds && len(named) == len(rest) {
		w.here()
	}
}

// gitSubcommand is the place of git's subcommand among its arguments.
func gitSubcommand(args []reader.Word) int {
	for i := 0; i < len(args); i++ {
		switch text := args[i].Text; {
		case text == "-C" || text == "-c":
			i++
		case !strings.HasPrefix(text, "-"):
			return i
		}
	}
	return len(args)
}

// gitGrep goes through all files that git knows below the folder, as a recursive grep does, unless
// it is told which, or a revision. end is where "--" stands, or less than 0.
func (w *walker) gitGrep(args []reader.Word, end int) {
	var after []reader.Word
	if end >= 0 {
		args, after = args[:end], args[end+1:]
	}
	var operands []reader.Word
	patterns := 1
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		switch {
		case !args[i].Known || len(text) < 2 || text[0] != '-':
			operands = append(operands, args[i])
		case text[1] == '-':
			if slices.Contains([]string{"--max-depth", "--threads", "--after-context", "--before-context", "--context", "--max-count"}, text) {
				i++
			}
		default:
			k := strings.IndexAny(text[1:], "efABCm")
			if k < 0 {
				continue
			}
			if text[1+k] == 'e' || text[1+k] == 'f' {
				patterns = 0
			}
			if k+2 == len(text) {
				i++
			}
		}
	}
	some := false
	for _, a := range append(operands[min(patterns, len(operands)):], after...) {
		some = w.pathspec(a, true) || some
	}
	if !some && !w.showsLines(args) {
		w.here()
	}
}

// showsLines: the search is all of the command and shows whole lines, so that what is in a hidden
// file is known for it when it comes out, and masked. That does not hold for parts of lines, nor for
// what other programs make of them.
func (w *walker) showsLines(args []reader.Word) bool {
	m := &w.command
	return len(m.parts) == 1 && len(m.parts[0].Redirects) == 0 && !slices.ContainsFunc(args, func(a reader.Word) bool {
		return strings.HasPrefix(a.Text, "-") && strings.Trim(a.Text[1:], "niwlIEFGPe") != ""
	})
}

// pathspec notes the files that git is told to look at: a name, or a pattern whose stars are also
// any number of folders. It is false for one that only takes files out. A pattern that takes all
// says no more than none, unless git searches.
func (w *walker) pathspec(word reader.Word, searches bool) bool {
	some := false
	for _, s := range w.speller().spell(word) {
		text, takes := withoutMagic(s.text)
		if !takes {
			continue
		}
		some = true
		first := strings.IndexAny(text, `*?[\`)
		switch {
		case s.cut:
			if searches {
				w.here()
			}
		case strings.Trim(text, "*/.") == "":
			if searches {
				w.here()
			}
		case first < 0:
			w.from(nil, spelling{text: text})
		case first == 0:
			w.from(takesPath(text), spelling{text: "."})
		default:
			w.from(takesPath(text), spelling{text: text[:first], cut: true})
		}
	}
	return some
}

// takesPath: a file of this name may be what the pattern means: its stars reach over slashes.
func takesPath(pattern string) func(string) bool {
	last := pattern[strings.LastIndexByte(pattern, '/')+1:]
	return func(name string) bool {
		if globTakes(last, name) {
			return true
		}
		for i := range last {
			if last[i] == '*' && globTakes(last[i:], name) {
				return true
			}
		}
		return false
	}
}

// withoutMagic is a pathspec without what stands before it to say how it is meant; false if it
// takes files out.
func withoutMagic(text string) (string, bool) {
	rest, ok := strings.CutPrefix(text, ":")
	if !ok {
		return text, true
	}
	if long, after, ok := strings.Cut(rest, ")"); ok && strings.HasPrefix(long, "(") {
		return after, !slices.Contains(strings.Split(long[1:], ","), "exclude")
	}
	for rest != "" && strings.IndexByte("/!^", rest[0]) >= 0 {
		if rest[0] != '/' {
			return rest, false
		}
		rest = rest[1:]
	}
	return strings.TrimPrefix(rest, ":"), true
}
