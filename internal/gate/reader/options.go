package reader

import (
	"slices"
	"strings"
)

// spec is what is known of one program: the options that only read. Options that are not
// here are refused, also abbreviated ones that a program would accept.
type spec struct {
	flags    string // short options without a value, "lah"
	values   string // short options with one, glued or as the next word
	optional string // short options that may have one, glued
	// long options: "all", "width=" with a value, "color[=" with one or without, "contains?"
	// with the next word as value if there is one.
	long    string
	numbers bool // -5 is an option
	plus    bool // so is +5
	// most operands; 0 is none, and any number of them is many.
	most int
	// harmless: there is no option, known or not, and no number of operands that could do
	// anything but read. Then words that are only known when it runs may be among them.
	harmless bool
	// texts operands at the beginning are no names of files; all of them if it is many.
	texts int
	// files are the options, short or long, whose values are names of files.
	files string
	// ordered: after the first operand all are operands, as some programs have it.
	ordered bool
	// open: it reads more than it is told.
	open bool
	// check looks at what is left; it returns what the command may do instead of reading.
	check func(j *judge, c *call) string
}

const many = 1 << 30 // operands

// call is a command whose options were read.
type call struct {
	name     string
	options  []option
	operands []arg
	ended    bool // by --
	part     *Part
}

type option struct {
	name  string // "l", "color"
	value arg
	given bool // a value
	apart bool // which is a word of its own
}

func (c *call) has(names ...string) bool {
	return slices.ContainsFunc(c.options, func(o option) bool { return slices.Contains(names, o.name) })
}

func (c *call) valuesOf(names ...string) []arg {
	var out []arg
	for _, o := range c.options {
		if o.given && slices.Contains(names, o.name) {
			out = append(out, o.value)
		}
	}
	return out
}

// use reads a command by its spec and says what it may do besides reading.
func (j *judge) use(s spec, name string, args []arg, p *Part) string {
	c, why := s.parse(name, args)
	if why != "" {
		return why
	}
	c.part = p
	if len(c.operands) > s.most {
		return "gives `" + name + "` more names than it only reads"
	}
	if s.check != nil {
		if why := s.check(j, c); why != "" {
			return why
		}
	}
	j.open = j.open || s.open
	for i, a := range c.operands {
		if i >= s.texts {
			j.mayRead(a)
		}
	}
	for _, o := range c.options {
		if o.given && slices.Contains(strings.Fields(s.files), o.name) {
			j.mayRead(o.value)
		}
	}
	return ""
}

// mayRead notes that a word may name a file.
func (j *judge) mayRead(a arg) {
	if a.known {
		j.reads = append(j.reads, a.text)
		return
	}
	names, ok := j.names(a.word, 0)
	j.open = j.open || !ok
	for _, n := range names {
		if n.pattern {
			j.patterns = append(j.patterns, n.text)
		} else {
			j.reads = append(j.reads, n.text)
		}
	}
}

func (s spec) parse(name string, args []arg) (*call, string) {
	c := &call{name: name}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case c.ended, s.ordered && len(c.operands) > 0:
			c.operands = append(c.operands, a)
		case !a.known:
			if o, ok := s.longValue(a); ok {
				c.options = append(c.options, o)
				continue
			}
			if a.dash && !s.harmless {
				return nil, "gives `" + name + "` " + a.written + ", which may become an option"
			}
			c.operands = append(c.operands, a)
		case a.text == "--":
			c.ended = true
		case a.text == "-" || !strings.HasPrefix(a.text, "-"):
			if s.plus && len(a.text) > 1 && a.text[0] == '+' {
				continue
			}
			c.operands = append(c.operands, a)
		case s.numbers && isNumber(a.text[1:]):
			c.options = append(c.options, option{name: "0"})
		case strings.HasPrefix(a.text, "--"):
			n, why := s.longOption(c, args[i:])
			if why != "" {
				return nil, why
			}
			i += n
		default:
			n, why := s.cluster(c, args[i:])
			if why != "" {
				return nil, why
			}
			i += n
		}
	}
	return c, ""
}

// longOption reads --name, --name=value, --name value. It returns how many further words it
// took.
func (s spec) longOption(c *call, args []arg) (int, string) {
	name, value, glued := strings.Cut(args[0].text[2:], "=")
	takes, ok := s.takes(name)
	unknown := "gives `" + c.name + "` the option --" + name + ", which is not known to only read"
	o := option{name: name, given: glued, value: plainArg(value)}
	switch {
	case !ok || name == "":
		return 0, unknown
	case takes == 0 && glued:
		return 0, unknown
	case takes == '=' && !glued:
		if len(args) < 2 || !s.plainValue(args[1]) {
			return 0, "gives `" + c.name + " --" + name + "` a value that may be something else"
		}
		o.value, o.given, o.apart = args[1], true, true
		c.options = append(c.options, o)
		return 1, ""
	case takes == '?' && !glued && len(args) > 1:
		if !args[1].single || args[1].dash {
			return 0, "gives `" + c.name + " --" + name + "` a value that may be something else"
		}
		o.value, o.given, o.apart = args[1], true, true
		c.options = append(c.options, o)
		return 1, ""
	}
	c.options = append(c.options, o)
	return 0, ""
}

// longValue reads --name="$value": whatever the value is, it stays one.
func (s spec) longValue(a arg) (option, bool) {
	lead := a.word.lead()
	name, value, found := strings.Cut(strings.TrimPrefix(lead, "--"), "=")
	takes, ok := s.takes(name)
	if !a.single || !strings.HasPrefix(lead, "--") || !found || !ok || takes == 0 {
		return option{}, false
	}
	rest := a.word
	rest.Text, rest.pieces = a.written[min(len(a.written), len("--=")+len(name)):], withoutLead(rest.pieces, len(lead)-len(value))
	return option{name: name, given: true, value: arg{single: true, dash: true, at: true, written: rest.Text, word: rest}}, true
}

// withoutLead are pieces without their first bytes, which are text.
func withoutLead(pieces []piece, n int) []piece {
	out := slices.Clone(pieces)
	for i := range out {
		cut := min(n, len(out[i].text))
		if out[i].kind != pieceText || n == 0 {
			break
		}
		out[i].text, n = out[i].text[cut:], n-cut
	}
	return out
}

func plainArg(text string) arg {
	return arg{text: text, known: true, single: true, dash: strings.HasPrefix(text, "-"), at: strings.HasPrefix(text, "@"), written: text}
}

// plainValue: the word can be nothing but the value of the option before it, also to a
// program that reads its options in another way than is known here.
func (s spec) plainValue(a arg) bool {
	return a.single && (s.harmless || !a.dash || a.known && (a.text == "-" || isNumber(a.text[1:])))
}

// takes says how a long option takes a value: 0, '=', '[' or '?'.
func (s spec) takes(name string) (how byte, ok bool) {
	for word := range strings.FieldsSeq(s.long) {
		switch word {
		case name:
			return 0, true
		case name + "=":
			return '=', true
		case name + "[=":
			return '[', true
		case name + "?":
			return '?', true
		}
	}
	return 0, false
}

// cluster reads -abc, and -o value or -ovalue at its end.
func (s spec) cluster(c *call, args []arg) (int, string) {
	text := args[0].text
	for i := 1; i < len(text); i++ {
		name := text[i : i+1]
		switch {
		case strings.Contains(s.flags, name):
			c.options = append(c.options, option{name: name})
		case strings.Contains(s.optional, name):
			c.options = append(c.options, option{name: name, given: i+1 < len(text), value: plainArg(text[i+1:])})
			return 0, ""
		case strings.Contains(s.values, name) && i+1 < len(text):
			c.options = append(c.options, option{name: name, given: true, value: plainArg(text[i+1:])})
			return 0, ""
		case strings.Contains(s.values, name):
			if len(args) < 2 || !s.plainValue(args[1]) {
				return 0, "gives `" + c.name + " -" + name + "` a value that may be something else"
			}
			c.options = append(c.options, option{name: name, given: true, apart: true, value: args[1]})
			return 1, ""
		default:
			return 0, "gives `" + c.name + "` the option -" + name + ", which is not known to only read"
		}
	}
	return 0, ""
}
