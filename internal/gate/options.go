package gate

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/gate/command"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// matchBehindOptions reports whether a rule that denies or asks is about a command once the options are
// left out that stand before the words which the rule spells out: "git push" is found in "git
// --no-pager -C x push". What follows such an option may be its value, or not, so that both are
// tried; for rules that allow this would be a guess, and they never come here.
func matchBehindOptions(w *rule.Wildcard, words []string) bool {
	head := strings.Fields(w.Lits[0])
	if len(head) < 2 || len(words) < 3 || len(words) > command.MaxWords || !slices.ContainsFunc(words[1:], mayVanish) {
		return false
	}
	name := words[0]
	if name != head[0] {
		if name = rule.PlainName(name); name != head[0] {
			return false
		}
	}
	return (&wordSearch{rule: w, head: head, words: words, tried: make(map[[2]int]bool)}).match(1, 1)
}

// wordSearch looks for the words that a rule spells out, the first of which is the name.
type wordSearch struct {
	rule  *rule.Wildcard
	head  []string
	words []string
	tried map[[2]int]bool
}

// match: the words of the rule from the j-th on are found from the i-th word of the command on.
func (p *wordSearch) match(j, i int) bool {
	at := [2]int{j, i}
	if i >= len(p.words) || p.tried[at] {
		return false
	}
	p.tried[at] = true
	word := p.words[i]
	if j == len(p.head)-1 {
		// The last may be the beginning of a word, and what follows it is the rule's to say.
		if p.rule.Match(rule.OneBlank(strings.Join(p.head[:j], " ") + " " + strings.Join(p.words[i:], " "))) {
			return true
		}
	} else if word == p.head[j] && p.match(j+1, i+1) {
		return true
	}
	if !mayVanish(word) {
		return false
	}
	return p.match(j, i+1) || i+1 < len(p.words) && takesNext(p.head[0], word, p.words[i+1]) && p.match(j, i+2)
}

// mayVanish: the word is an option, or may become one or nothing at all when it runs.
func mayVanish(word string) bool {
	return len(word) > 1 && (word[0] == '-' || word[0] == '$' || word[0] == '`' || strings.HasPrefix(word, `"$`))
}

// takesNext: the word behind an option may be its value. In doubt it may; options that are
// known for having none are told apart so that "git --no-pager log push" is no push.
func takesNext(program, option, next string) bool {
	name, _, glued := strings.Cut(option, "=")
	switch {
	case option[0] != '-':
		return true
	case glued || name == "--":
		return false
	case command.WithoutValue(program, name):
		// To some programs a truth value is one all the same.
		return slices.Contains([]string{"true", "false", "null", "0", "1"}, next)
	}
	return true
}
