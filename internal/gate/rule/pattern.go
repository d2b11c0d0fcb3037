package rule

import (
	"path"
	"strings"
)

// anchor says where a path pattern begins.
type anchor int

const (
	atProject anchor = iota // the session's workspace: "/x", "./x", "x"
	atRoot                  // the file system: "//x"
	atHome                  // the user's Home: "~/x"
)

// Pattern is a path rule's glob, taken apart once. It matches a path if it matches the
// path itself or a folder above it, as in a .gitignore file.
type Pattern struct {
	anchor anchor
	up     int // folders above the anchor, for patterns that begin with ".."
	Segs   []Segment
	folder string // where atProject is; "" is the session's own
}

type SegmentKind int

const (
	Literal SegmentKind = iota
	Glob                // *, ? and [...] within one name
	Any                 // **: any number of names, also none
)

type Segment struct {
	Kind SegmentKind
	Text string
}

// ParsePattern reads a glob with its anchor. The problem, if not empty, completes the
// sentence "the path …".
func ParsePattern(spec string) (p Pattern, problem string) {
	rest := spec
	switch {
	case spec == "":
		return p, "is empty"
	case strings.ContainsRune(spec, 0):
		return p, "contains a NUL byte"
	case spec[0] == '!':
		return p, "begins with !, and exceptions are not supported"
	case spec[0] == '$' || spec[0] == '%':
		return p, "begins with a variable, which is not expanded; write ~/ for the home folder"
	case strings.HasPrefix(spec, "//"):
		p.anchor, rest = atRoot, spec[2:]
	case spec == "~" || strings.HasPrefix(spec, "~/"):
		p.anchor, rest = atHome, strings.TrimPrefix(spec[1:], "/")
	case spec[0] == '~':
		return p, "names another user's home"
	case spec[0] == '/':
		rest = spec[1:]
	default:
		// As in .gitignore: a pattern without an inner slash matches at any depth.
		if !strings.Contains(strings.TrimSuffix(spec, "/"), "/") && spec != "." && spec != ".." {
			p.Segs = append(p.Segs, Segment{Kind: Any})
		}
	}
	for name := range strings.SplitSeq(rest, "/") {
		switch name {
		case "", ".":
			continue
		case "..":
			if n := len(p.Segs); n == 0 {
				p.up++
			} else if p.Segs[n-1].Kind == Literal {
				p.Segs = p.Segs[:n-1]
			} else {
				return p, "has .. after a wildcard"
			}
			continue
		}
		s, problem := parseSegment(name)
		if problem != "" {
			return p, problem
		}
		if n := len(p.Segs); s.Kind == Any && n > 0 && p.Segs[n-1].Kind == Any {
			continue
		}
		p.Segs = append(p.Segs, s)
	}
	return p, ""
}

func parseSegment(name string) (Segment, string) {
	if name == "**" {
		return Segment{Kind: Any}, ""
	}
	if !strings.ContainsAny(name, `*?[\`) {
		return Segment{Literal, name}, ""
	}
	name, ok := goBrackets(name)
	if !ok {
		return Segment{}, "has a named character class, which is not supported"
	}
	if _, err := path.Match(name, "x"); err != nil {
		return Segment{}, "has an unfinished bracket or escape"
	}
	if !strings.ContainsAny(name, `*?[`) {
		return Segment{Literal, Unescape(name)}, ""
	}
	return Segment{Glob, name}, ""
}

// goBrackets writes [!a] as [^a]. It refuses classes such as [[:alpha:]], which path.Match
// would take for something else.
func goBrackets(name string) (string, bool) {
	b := []byte(name)
	inside := false
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '\\':
			i++
		case inside:
			if b[i] == '[' && i+1 < len(b) && strings.IndexByte(":.=", b[i+1]) >= 0 {
				return "", false
			}
			inside = b[i] != ']'
		case b[i] == '[':
			inside = true
			if i+1 < len(b) && b[i+1] == '!' {
				b[i+1] = '^'
				i++
			}
		}
	}
	return string(b), true
}

// LiteralPattern writes the absolute path p so that it matches p and what is below it.
func LiteralPattern(p string) string {
	var b strings.Builder
	b.WriteString("/")
	special := `*?[\{}`
	if strings.Count(p, "(") != strings.Count(p, ")") {
		special += "()"
	}
	for i := range len(p) {
		if strings.IndexByte(special, p[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(p[i])
	}
	return b.String()
}

// Places are what the anchors stand for.
type Places struct {
	Project string // "" if not known
	Home    string
}

// Base returns the folder the pattern begins at; false if it is not known.
func (p *Pattern) Base(at Places) (string, bool) {
	var dir string
	switch p.anchor {
	case atRoot:
		return "/", true
	case atHome:
		dir = at.Home
	case atProject:
		if dir = p.folder; dir == "" {
			dir = at.Project
		}
	}
	if !path.IsAbs(dir) {
		return "", false
	}
	dir = path.Clean(dir)
	for range p.up {
		dir = path.Dir(dir)
	}
	return dir, true
}

// Match reports whether the pattern, begun at dir, covers file (absolute and clean).
func (p *Pattern) Match(dir, file string, fold bool) bool {
	rest, ok := Below(dir, file, fold)
	return ok && MatchSegments(p.Segs, rest, fold)
}

// MatchSegments reports whether segs match the whole of rest, or folders it begins with.
// Only the last ** is ever tried again, so the cost is at most len(segs) × names.
func MatchSegments(segs []Segment, rest string, fold bool) bool {
	i := 0
	retry, retryRest := -1, "" // after the last **: its position, and where it began
	for {
		switch {
		case i == len(segs):
			return true
		case segs[i].Kind == Any:
			retry, retryRest = i, rest
			i++
			continue
		case rest != "":
			name, tail, _ := strings.Cut(rest, "/")
			if segs[i].MatchName(name, fold) {
				i, rest = i+1, tail
				continue
			}
		}
		if retry < 0 || retryRest == "" {
			return false
		}
		_, retryRest, _ = strings.Cut(retryRest, "/")
		i, rest = retry+1, retryRest
	}
}

func (s Segment) MatchName(name string, fold bool) bool {
	if s.Kind == Literal {
		return name == s.Text || fold && strings.EqualFold(name, s.Text)
	}
	if ok, err := path.Match(s.Text, name); ok || err != nil {
		return ok
	}
	if !fold {
		return false
	}
	ok, err := path.Match(strings.ToLower(s.Text), strings.ToLower(name))
	return ok && err == nil
}

// Below returns the part of file under dir, "" for dir itself. Both are absolute and
// clean. Whole names are compared, so /a/bc is not below /a/b.
func Below(dir, file string, fold bool) (rest string, ok bool) {
	if dir == "/" {
		return strings.TrimPrefix(file, "/"), true
	}
	if len(file) < len(dir) || file[:len(dir)] != dir && (!fold || !strings.EqualFold(file[:len(dir)], dir)) {
		return "", false
	}
	if len(file) == len(dir) {
		return "", true
	}
	if file[len(dir)] != '/' {
		return "", false
	}
	return file[len(dir)+1:], true
}

// Matches reports whether one of a rule's paths covers file. unsure is what counts where the
// folder is not known that it begins at.
func (r *Rule) Matches(at Places, file string, fold, unsure bool) bool {
	for i := range r.Paths {
		if base, ok := r.Paths[i].Base(at); !ok && unsure || ok && r.Paths[i].Match(base, file, fold) {
			return true
		}
	}
	return false
}

// Reaches reports whether Matches may be true for anything below a folder.
func (r *Rule) Reaches(at Places, folder string, fold, unsure bool) bool {
	for i := range r.Paths {
		if base, ok := r.Paths[i].Base(at); !ok && unsure || ok && r.Paths[i].reaches(base, folder, fold) {
			return true
		}
	}
	return false
}

// reaches compares the folder with the names that the pattern begins with.
func (p *Pattern) reaches(dir, folder string, fold bool) bool {
	for i := 0; i < len(p.Segs) && p.Segs[i].Kind == Literal; i++ {
		dir = path.Join(dir, p.Segs[i].Text)
	}
	_, below := Below(dir, folder, fold)
	_, above := Below(folder, dir, fold)
	return below || above
}
