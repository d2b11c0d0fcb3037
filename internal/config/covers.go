package config

import (
	"strings"

	"github.com/troupe-dev/troupe"
)

// matcher answers for one path what guards say of it. A path passes it once, name by name: most guards are
// found by a name in it or by all that stands before one.
type matcher struct {
	fixed map[string]string    // by the whole path
	named map[string][]pattern // by the first name of those that begin anywhere below a folder
	other []pattern
	// leads are the beginnings of guards that are more than one name, as whole paths; above those of fixed.
	leads []pattern
	above map[string]bool
}

// pattern is a guard with wildcards, or the rest of one.
type pattern struct {
	top  string // the folder below which it counts, "" for the root
	segs []segment
	why  string
}

func newMatcher(guards []Guard) matcher {
	m := matcher{fixed: map[string]string{}, named: map[string][]pattern{}, above: map[string]bool{}}
	for _, g := range guards {
		segs := segments(fold(g.Glob))
		if path, ok := Literal(globOf(segs)); ok {
			m.addFixed(path, g.Why)
			continue
		}
		m.addLeads(segs)
		n := 0
		for n < len(segs) && !segs[n].any && !segs[n].glob {
			n++
		}
		if n+1 < len(segs) && segs[n].any && !segs[n+1].glob {
			top := ""
			if n > 0 {
				top, _ = Literal(globOf(segs[:n]))
			}
			name := segs[n+1].text
			m.named[name] = append(m.named[name], pattern{top, segs[n+2:], g.Why})
			continue
		}
		m.other = append(m.other, pattern{"", segs, g.Why})
	}
	return m
}

func (m *matcher) addFixed(path, why string) {
	if _, ok := m.fixed[path]; !ok {
		m.fixed[path] = why
	}
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		m.above[path[:i]] = true
	}
}

// addLeads notes where what a guard covers could be brought along in a folder: at each of its beginnings
// that ends in a name. Below a ** any folder could be one; there the last name has to say so.
func (m *matcher) addLeads(segs []segment) {
	for n := 1; n < len(segs); n++ {
		if !segs[n-1].any {
			m.leads = append(m.leads, pattern{segs: segs[:n]})
		}
	}
}

// matches says why a folded path is protected by a guard.
func (m *matcher) matches(path string) (why string, covered bool) {
	for from, end := 0, 0; from < len(path); from = end {
		end = nextName(path, from)
		if why, ok := m.fixed[path[:end]]; ok {
			return why, true
		}
		patterns := m.named[path[from+1:end]]
		for i := range patterns {
			p := &patterns[i]
			if troupe.Within(path[:from], p.top) && matchSegments(p.segs, strings.TrimPrefix(path[end:], "/"), false) {
				return p.why, true
			}
		}
	}
	for i := range m.other {
		if matchSegments(m.other[i].segs, strings.TrimPrefix(path, "/"), false) {
			return m.other[i].why, true
		}
	}
	return "", false
}

// nextName is where the name ends that begins behind the slash at from.
func nextName(path string, from int) int {
	if i := strings.IndexByte(path[from+1:], '/'); i >= 0 {
		return from + 1 + i
	}
	return len(path)
}

// Covers says why a path stays as it is, if it does. The path is absolute, clean and resolved, and need not
// exist. Case makes no difference. The disk is looked at only if a name in the path could be part of a
// repository of git, so that it may be asked about each change that a command makes.
func (p *Protection) Covers(path string) (why string, covered bool) {
	folded := fold(path)
	if why, covered := p.matches(folded); covered {
		return why, true
	}
	if mayBeGit(folded) && p.PartOfGit(path) != "" {
		return "makes a folder a repository of git, or says what git runs there", true
	}
	return "", false
}

// Leads reports whether something protected could lie below a path, for what its last name says: ".github",
// where ".github/workflows" is protected. Such a folder may be made, empty; nothing may be moved or linked
// there, for what is protected could come with it.
func (p *Protection) Leads(path string) bool {
	folded := fold(path)
	if p.above[folded] || insideModules(folded) {
		return true
	}
	for i := range p.leads {
		if matchSegments(p.leads[i].segs, strings.TrimPrefix(folded, "/"), true) {
			return true
		}
	}
	return infoOfGit(path, folded) || bringsRefs(path, folded)
}

// bringsRefs: git itself fills a repository's refs file by file, and a folder that is moved there may be another
// repository. The refs themselves stay, as part of the one.
func bringsRefs(path, folded string) bool {
	if folded += "/"; !strings.Contains(folded, "/refs/") && !strings.Contains(folded, "/logs/") {
		return false
	}
	at := refsOfGit(path + "/")
	return at != "" && at != "refs/"
}

// insideModules: where git keeps the repositories of submodules, each folder may be one.
func insideModules(folded string) bool {
	return strings.Contains(folded, "/.git/modules/")
}
