// Package handoff looks at what an agent hands to its parent, before the parent reads it. It says where the words look
// like something that they are not, tell the reader what to do, or claim what the runtime did not see. It is a pure
// function of the words and the evidence, and takes time in proportion to the words.
//
// A rule that fires refuses nothing: words are data for the parent, and it is told to be careful with these.
package handoff

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// Result is what an agent hands over, with what the runtime knows of its run.
type Result struct {
	Text     string
	Evidence troupe.Evidence
	// Delegated: agents worked for it, whose evidence is not its own.
	Delegated bool
	// Saw reports which of these texts its run has read, been told or run. It is asked once at the most; nil: all.
	Saw func(texts []string) []bool
}

// Checker holds the rules. It is safe for concurrent use.
type Checker struct{ book func() book }

// New returns the rules there are. They are compiled when the first result is looked at.
func New() *Checker {
	return &Checker{sync.OnceValue(compile)}
}

// rule is one of the table, compiled.
type rule struct {
	entry
	pattern, not *regexp.Regexp
	groups       int // of words
}

// book is the table, ready for use.
type book struct {
	rules  []rule
	byWord map[string][]place
}

// place is where a word stands in the table: in a group of the words of a rule.
type place struct{ rule, group int }

func compile() book {
	b := book{byWord: make(map[string][]place)}
	for i, e := range table() {
		r := rule{entry: e}
		if e.pattern != "" {
			r.pattern = regexp.MustCompile(`(?i)` + e.pattern)
			for g, words := range strings.Split(e.words, ";") {
				r.groups++
				for w := range strings.FieldsSeq(words) {
					b.byWord[w] = append(b.byWord[w], place{i, g})
				}
			}
		}
		if e.not != "" {
			r.not = regexp.MustCompile(`(?i)` + e.not)
		}
		b.rules = append(b.rules, r)
	}
	return b
}

// Check returns the rules that fire, in the order of the table, each once.
func (c *Checker) Check(r Result) []troupe.Flag {
	b := c.book()
	l := look{result: &r, fired: make([]bool, len(b.rules)), groups: make([]uint8, len(b.rules)),
		evidence: make([]uint8, len(b.rules))}
	for _, line := range lines(r.Text) {
		for _, i := range l.candidates(&b, line.text) {
			if l.groups[i] == 1<<b.rules[i].groups-1 {
				l.line(&b.rules[i], i, line)
			}
			l.groups[i] = 0
		}
		if !line.code && troupe.Escape(line.prose) != line.prose {
			l.fire(b.rules, ruleTag)
		}
	}
	l.unseen(b.rules)
	if hidden(r.Text) {
		l.fire(b.rules, ruleHidden)
	}
	var out []troupe.Flag
	for i := range b.rules {
		f := troupe.Flag{Rule: b.rules[i].name, Why: b.rules[i].why}
		if l.fired[i] && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// candidates are the rules of which a word stands in a line. Of which groups is noted in groups, by bits.
func (l *look) candidates(b *book, text string) []int {
	l.found = l.found[:0]
	var low [longestWord]byte
	for from := 0; from < len(text); {
		n := 0
		for from+n < len(text) && letter(text[from+n]) {
			if n < longestWord {
				low[n] = text[from+n]
				if c := text[from+n]; 'A' <= c && c <= 'Z' {
					low[n] = c + 'a' - 'A'
				}
			}
			n++
		}
		if n > 0 && n <= longestWord {
			for _, at := range b.byWord[string(low[:n])] {
				if l.groups[at.rule] == 0 {
					l.found = append(l.found, at.rule)
				}
				l.groups[at.rule] |= 1 << at.group
			}
		}
		from += n + 1
	}
	return l.found
}

// letter reports whether a byte is part of the words of rules: all of these are ASCII.
func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' }

// longestWord is more than any word of a rule has.
const longestWord = 24

// look is one result that is looked at.
type look struct {
	result *Result
	fired  []bool
	groups []uint8 // of each rule, those of which a word stands in the line that is looked at
	found  []int
	wanted []want
	// evidence is, of each rule, what it says.
	evidence []uint8
}

// want is something that the reader is told to open or to run, of which it matters whether the agent has seen it.
type want struct {
	rule int
	text string
}

func (l *look) fire(rules []rule, name string) {
	for i := range rules {
		l.fired[i] = l.fired[i] || rules[i].name == name
	}
}

// line looks at one line with a rule that one of its words calls for.
func (l *look) line(r *rule, i int, line line) {
	if l.fired[i] || line.code && !r.inCode {
		return
	}
	text := line.text
	if !r.whole {
		text = line.prose
	}
	if r.has != "" && !strings.ContainsAny(text, r.has) {
		return
	}
	if r.contradicts != nil && (l.result.Delegated || !l.contradicted(r, i)) {
		return
	}
	var wanted []string
	if r.asks != nil {
		if wanted = r.asks(line); len(wanted) == 0 {
			return
		}
	}
	if !r.pattern.MatchString(text) || r.not != nil && r.not.MatchString(text) {
		return
	}
	if r.asks == nil {
		l.fired[i] = true
		return
	}
	for _, t := range wanted {
		if len(l.wanted) < mostWanted {
			l.wanted = append(l.wanted, want{i, t})
		}
	}
}

// contradicted reports whether the evidence says otherwise than what the pattern of a rule finds. It is looked at once.
func (l *look) contradicted(r *rule, i int) bool {
	if l.evidence[i] == unknown {
		l.evidence[i] = agrees
		if r.contradicts(&l.result.Evidence) {
			l.evidence[i] = contradicts
		}
	}
	return l.evidence[i] == contradicts
}

// What the evidence says.
const (
	unknown = iota
	agrees
	contradicts
)

// mostWanted bounds what is looked for in a log.
const mostWanted = 50

// unseen fires where the reader is to open or to run what the agent itself never saw.
func (l *look) unseen(rules []rule) {
	var texts []string
	var of []int
	for _, w := range l.wanted {
		if !ran(&l.result.Evidence, w.text) {
			texts, of = append(texts, w.text), append(of, w.rule)
		}
	}
	if len(texts) == 0 || l.result.Saw == nil {
		return
	}
	for i, saw := range l.result.Saw(texts) {
		if !saw {
			l.fire(rules, rules[of[i]].name)
		}
	}
}

// ran reports whether a command stands in one that was run.
func ran(e *troupe.Evidence, text string) bool {
	for _, c := range e.Commands {
		if strings.Contains(c.Command, text) {
			return true
		}
	}
	return false
}

// line is a line of a result. In prose, what stands between quotes or marks of code is left out: that is about
// something, and says nothing itself. What is opened there and never closed is prose. next is the line of code below
// it, if it announces one.
type line struct {
	text, prose string
	code        bool
	next        string
}

func lines(text string) []line {
	var out []line
	code := false
	announced := -1
	fences := 0
	for raw := range strings.Lines(text) {
		if fence(strings.TrimSpace(raw)) {
			fences++
		}
	}
	for raw := range strings.Lines(text) {
		s := strings.TrimSpace(raw)
		switch {
		case fence(s):
			fences--
			code = !code && fences > 0
			continue
		case s == "":
			continue
		case code:
			if announced >= 0 {
				out[announced].next, announced = s, -1
			}
			out = append(out, line{text: s, prose: s, code: true})
		case strings.HasPrefix(s, ">"): // a quotation
			announced = -1
			out = append(out, line{text: s, prose: "", code: true})
		default:
			announced = -1
			if strings.HasSuffix(s, ":") {
				announced = len(out)
			}
			out = append(out, line{text: s, prose: prose(s)})
		}
	}
	return out
}

func fence(line string) bool { return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") }

// prose is a line without what stands between backticks or double quotes.
func prose(s string) string {
	if strings.IndexByte(s, '`') < 0 && strings.IndexByte(s, '"') < 0 && !strings.Contains(s, "“") {
		return s
	}
	var b strings.Builder
	open := "" // what is known to be closed nowhere in the rest of the line
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		closes := ""
		switch r {
		case '`', '"':
			closes = string(r)
		case '“':
			closes = "”"
		}
		if closes != "" && !strings.Contains(open, closes) {
			if _, rest, found := strings.Cut(s[n:], closes); found {
				b.WriteString("…")
				s = rest
				continue
			}
			open += closes
		}
		b.WriteString(s[:n])
		s = s[n:]
	}
	return b.String()
}

// hidden reports whether a text holds characters that models read and people do not see.
func hidden(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0xE2 {
			continue
		}
		for _, r := range s[i:] {
			if r >= 0xE0000 && r <= 0xE007F || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 {
				return true
			}
		}
		return false
	}
	return false
}
