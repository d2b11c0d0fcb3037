package gate

import (
	"path"
	"strings"

	"github.com/troupe-dev/troupe/internal/gate/command"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// keepsToPaths: what the stars of an allow rule leave open leads to no folder above the path that the
// rule began, and to no command of its own. A rule that begins no path leaves the whole word open.
func keepsToPaths(w *rule.Wildcard, p *part) bool {
	for i, lit := range w.Lits[:len(w.Lits)-1] {
		begun := lit[strings.LastIndexAny(lit, " \t")+1:]
		if i == 0 {
			begun = w.Begun()
		}
		begun = strings.NewReplacer(`"`, "", `'`, "").Replace(begun)
		if begun == "" {
			continue
		}
		for _, word := range p.Words {
			text := strings.NewReplacer(`"`, "", `'`, "").Replace(word.Text)
			rest, ok := strings.CutPrefix(text, begun)
			if !ok && strings.Contains(begun, "/") {
				rest, ok = text, true // one more path, where the rule means those in a folder
			}
			if ok && goesUp(rest, word.Known) {
				return false
			}
		}
	}
	return keepsToWords(w, p)
}

// goesUp: a segment of the text leads to the folder above.
func goesUp(text string, known bool) bool {
	for seg := range strings.SplitSeq(text, "/") {
		if i := strings.LastIndexAny(seg, "=:@"); i >= 0 {
			seg = seg[i+1:]
		}
		if seg == ".." || rule.Unescape(seg) == ".." || !known && mayClimb(seg) {
			return true
		}
	}
	return false
}

// mayClimb: a pattern of names, one of which is "..".
func mayClimb(seg string) bool {
	if !strings.HasPrefix(seg, ".") || !strings.ContainsAny(seg, "*?[") {
		return false
	}
	ok, err := path.Match(seg, "..")
	return ok || err != nil
}

// keepsToWords looks at the words that a rule spells out in part. The rest of such a word is
// known when the command is judged, so that it is the path that the rule began; and if a shell
// gets it, it holds no further command.
func keepsToWords(w *rule.Wildcard, p *part) bool {
	begun := w.Begun()
	if begun == "" {
		return true
	}
	for _, word := range p.Words {
		text := strings.NewReplacer(`"`, "", `'`, "").Replace(word.Text)
		rest, ok := strings.CutPrefix(text, begun)
		if !ok {
			continue
		}
		if !word.Known && strings.Contains(begun, "/") && strings.ContainsAny(rest, "$`") || strings.Contains(rest,
			"\n") {
			return false
		}
		if command.RunsText(path.Base(p.Words[0].Text)) && strings.ContainsAny(rest, ";&|<>()$`\n") {
			return false
		}
	}
	return true
}
