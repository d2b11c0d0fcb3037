package command

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// Text is one text that a word may become when it runs.
type Text struct {
	Text string // with \ before what is no pattern, if it is one
	Glob bool   // a pattern of names
	Cut  bool   // what follows is only known when it runs
	Own  bool   // it holds nothing but texts of the command
}

const (
	maxTextsOfWord = 64
	maxNested      = 6 // variables that are set by others
)

// Variables are what a command itself, and the session, say about variables.
type Variables struct {
	Home    string
	Folders []string // that the command may be in
	values  map[string][]Assign
	numbers map[string]bool
}

// Variables learns what the variables of a command may hold.
func (c *Command) Variables(home string) *Variables {
	v := &Variables{Home: home, values: make(map[string][]Assign), numbers: c.numbers}
	for i := range c.Parts {
		for _, a := range c.Parts[i].Assigns {
			v.values[a.Name] = append(v.values[a.Name], a)
		}
	}
	return v
}

// Sets reports whether the command assigns to one of the variables.
func (v *Variables) Sets(names ...string) bool {
	for _, name := range names {
		if len(v.values[name]) > 0 {
			return true
		}
	}
	return false
}

// splits: the word may become several by blanks in what it holds, any of which may be an option.
func (v *Variables) splits(w Word) bool {
	loose := func(t Text) bool { return t.Cut || strings.ContainsAny(t.Text, " \t\n") }
	return !w.Known && slices.ContainsFunc(w.pieces, func(p piece) bool {
		list := p.kind == pieceVar && p.text == "@" || p.kind == pieceOther && p.text != ""
		return list || !p.quoted && (p.kind == pieceOther || p.kind == pieceOutput && !p.count ||
			p.kind == pieceVar && !v.numbers[p.text] && !alwaysNumber(p.text) &&
				slices.ContainsFunc(v.valueOf(p.text, false, 0), loose))
	})
}

// Expand lists what a word may become. One that is cut may be anything that begins like it.
func (v *Variables) Expand(w Word) []Text {
	if w.Known {
		return []Text{{Text: w.Text, Own: true}}
	}
	out := v.expand(w, 0)
	for i := range out {
		if !out[i].Glob {
			out[i].Text = rule.Unescape(out[i].Text)
		}
	}
	return out
}

// expand returns texts with all that is special in patterns escaped where it is text.
func (v *Variables) expand(w Word, depth int) []Text {
	var done []Text
	open := []Text{{Own: true}}
	for i, p := range w.pieces {
		var next []Text
		choices := v.piece(p, i == 0, depth)
		if len(open)*len(choices)+len(done) > maxTextsOfWord {
			choices = []Text{{Cut: true}}
		}
		for _, o := range open {
			for _, c := range choices {
				c.Text, c.Glob, c.Own = o.Text+c.Text, o.Glob || c.Glob, o.Own && c.Own
				if c.Cut {
					done = append(done, c)
				} else {
					next = append(next, c)
				}
			}
		}
		open = next
	}
	return append(done, open...)
}

func (v *Variables) piece(p piece, first bool, depth int) []Text {
	switch p.kind {
	case pieceText:
		if at := strings.IndexByte(p.text, '~'); !p.quoted && (at == 0 && first || at > 0 && strings.IndexByte("=:",
			p.text[at-1]) >= 0) {
			return v.tilde(p.text[:at], p.text[at+1:])
		}
		if !p.quoted && strings.ContainsAny(p.text, "*?[") {
			return []Text{{Text: strings.ReplaceAll(p.text, `\`, `\\`), Glob: true, Own: true}}
		}
		return []Text{{Text: rule.EscapeGlob(p.text), Own: true}}
	case pieceTilde:
		at := strings.IndexByte(p.text, '~')
		return v.tilde(p.text[:at], p.text[at+1:])
	case pieceVar:
		return v.valueOf(p.text, p.quoted, depth)
	default:
		return []Text{{Cut: true}}
	}
}

// tilde writes ~name out: another user may be this one.
func (v *Variables) tilde(before, text string) []Text {
	name, rest, slash := strings.Cut(text, "/")
	var dirs []string
	switch name {
	case "":
		dirs = []string{v.Home}
	case "+":
		dirs = v.Folders
	case "-":
	default:
		dirs = []string{v.Home, path.Join("/home", name)}
		if name == "root" {
			dirs = []string{v.Home, "/root"}
		}
		if v.Home != "" {
			dirs = append(dirs, path.Join(path.Dir(v.Home), name))
		}
	}
	var out []Text
	for _, d := range dirs {
		if slash {
			d += "/"
		}
		glob := strings.ContainsAny(rest, "*?[")
		if !glob {
			rest = rule.EscapeGlob(rest)
		}
		out = append(out, Text{Text: before + rule.EscapeGlob(d) + rest, Glob: glob})
	}
	if len(out) == 0 {
		return []Text{{Cut: true}}
	}
	return out
}

func (v *Variables) valueOf(name string, quoted bool, depth int) []Text {
	var out []Text
	assigned := v.values[name]
	for _, a := range assigned {
		if depth >= maxNested || len(out) > maxTextsOfWord {
			return append(out, Text{Cut: true})
		}
		texts := v.expand(a.Value, depth+1)
		if a.Value.Known {
			// Where it is not quoted, what is special in it means something again.
			glob := !quoted && strings.ContainsAny(a.Value.Text, "*?[")
			texts = []Text{{Text: rule.EscapeGlob(a.Value.Text), Own: true}}
			if glob {
				texts = []Text{{Text: strings.ReplaceAll(a.Value.Text, `\`, `\\`), Glob: true, Own: true}}
			}
		}
		if a.Append { // to what the variable held
			for _, before := range out {
				for _, t := range texts {
					if !before.Cut {
						out = append(out, Text{before.Text + t.Text, before.Glob || t.Glob, t.Cut, before.Own && t.Own})
					}
				}
			}
		}
		out = append(out, texts...)
	}
	switch {
	case name == "HOME":
		out = append(out, Text{Text: rule.EscapeGlob(v.Home)})
	case name == "PWD":
		for _, d := range v.Folders {
			out = append(out, Text{Text: rule.EscapeGlob(d)})
		}
	case strings.Trim(name, "0123456789@*") == "":
		out = append(out, Text{Own: true}, Text{Cut: true})
	case len(assigned) == 0:
		out = append(out, Text{Cut: true})
	}
	if len(out) == 0 {
		return []Text{{Cut: true}}
	}
	return out
}
