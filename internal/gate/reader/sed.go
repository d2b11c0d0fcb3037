package reader

import (
	"strings"
)

// sed judges a call of sed: its options, and its program, which is parsed.
func sed(j *judge, name string, args []arg) string {
	s := spec{
		flags: "nErsuz", values: "el", most: many,
		long: "quiet silent regexp-extended expression= line-length= posix separate unbuffered null-data zero-terminated sandbox debug version help",
	}
	c, why := s.parse(name, args)
	if why != "" {
		return why
	}
	var program []string
	for _, e := range c.valuesOf("e", "expression") {
		if !e.known {
			return "runs a sed program that is only known when it runs"
		}
		program = append(program, e.text)
	}
	operands := c.operands
	if len(program) == 0 && !c.has("version", "help") {
		if len(operands) == 0 || !operands[0].known {
			return "runs a sed program that is only known when it runs"
		}
		program, operands = []string{operands[0].text}, operands[1:]
	}
	if problem := checkSed(strings.Join(program, "\n")); problem != "" {
		return "runs a sed program that " + problem
	}
	for _, a := range operands {
		j.mayRead(a)
	}
	return ""
}

// checkSed parses a sed program and says what it may do besides changing text on its way; or
// that it cannot be parsed, since where versions differ it must not guess.
func checkSed(program string) string {
	s := &sedParser{text: program}
	for !s.done() {
		if problem := s.command(); problem != "" {
			return problem
		}
	}
	if s.shows {
		return sedShows
	}
	if s.labels && strings.Contains(program, "\n") {
		return "has labels that may go on to the end of their lines"
	}
	return ""
}

const (
	sedUnclear = "cannot be read for sure"
	sedShows   = controlsTerminal
	// sedControls stand behind a backslash for control characters in what sed writes.
	sedControls = "afvrdoxc"
)

type sedParser struct {
	text   string
	at     int
	labels bool
	shows  bool // control characters, in the text of a, i and c
	writes bool // what it writes and shows does not matter, only what it runs
	odd    bool // the regular expression just read has its delimiter within brackets, once
}

func (s *sedParser) done() bool { return s.at >= len(s.text) }

func (s *sedParser) peek() byte {
	if s.done() {
		return 0
	}
	return s.text[s.at]
}

func (s *sedParser) skip(chars string) {
	for !s.done() && strings.IndexByte(chars, s.text[s.at]) >= 0 {
		s.at++
	}
}

func (s *sedParser) command() string {
	s.skip(" \t\n;")
	if s.done() {
		return ""
	}
	if problem := s.addresses(); problem != "" {
		return problem
	}
	c := s.peek()
	s.at++
	switch c {
	case '{', '}':
		return ""
	case '#':
		s.line()
		return ""
	case 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', '=', 'F':
		return s.end()
	case 'q', 'Q', 'l', 'L':
		s.skip(" \t")
		s.skip("0123456789")
		return s.end()
	case 'a', 'i', 'c':
		return s.lines()
	case ':', 'b', 't', 'T':
		return s.label(c)
	case 's':
		return s.substitute()
	case 'y':
		delimiter := s.peek()
		s.at++
		for range 2 {
			start := s.at
			if !s.delimited(delimiter, false) {
				return sedUnclear
			}
			if !s.writes && escapes(s.text[start:s.at], sedControls) {
				return sedShows
			}
		}
		return s.end()
	case 'w', 'W', 'r', 'R':
		if s.writes {
			s.line()
			return ""
		}
		if c == 'r' || c == 'R' {
			return "reads further files (" + string(c) + ")"
		}
		return "writes files (" + string(c) + ")"
	case 'e':
		return "runs commands (e)"
	}
	return sedUnclear
}

// addresses passes what selects lines.
func (s *sedParser) addresses() string {
	for n := range 2 {
		switch c := s.peek(); {
		case c >= '0' && c <= '9' || c == '$' || n == 1 && (c == '+' || c == '~'):
			s.at++
			s.skip("0123456789")
			s.skip(" \t")
			if s.peek() == '~' {
				s.at++
				s.skip("0123456789")
			}
		case c == '/' || c == '\\':
			s.at++
			if c == '\\' {
				c = s.peek()
				s.at++
			}
			if !s.regexp(c) || s.odd {
				return sedUnclear
			}
			s.skip("IM")
		default:
			if n == 1 {
				return sedUnclear
			}
		}
		s.skip(" \t")
		if n == 0 && s.peek() == ',' {
			s.at++
			s.skip(" \t")
			continue
		}
		break
	}
	s.skip(" \t!")
	return ""
}

// delimited passes text up to a delimiter. Some versions take a delimiter within brackets for
// text and others do not, so it must not stand there.
func (s *sedParser) regexp(delimiter byte) bool {
	s.odd = false
	return s.delimited(delimiter, true)
}

func (s *sedParser) delimited(delimiter byte, regexp bool) bool {
	if delimiter == 0 || delimiter == '\n' || delimiter == '\\' || delimiter == ' ' || delimiter == ';' || delimiter >= 0x80 {
		return false
	}
	bracket := -1
	for ; !s.done(); s.at++ {
		c := s.text[s.at]
		switch {
		case bracket >= 0 && c == delimiter && !s.odd && delimiter == '/' && regexp:
			s.odd = true
		case bracket >= 0 && (c == delimiter || c == '\n' || c == '\\' && s.at+1 < len(s.text) && s.text[s.at+1] == delimiter):
			return false
		case bracket >= 0:
			first := s.at == bracket+1 || s.at == bracket+2 && s.text[bracket+1] == '^'
			if c == '[' && s.at+1 < len(s.text) && strings.IndexByte(":.=", s.text[s.at+1]) >= 0 {
				end := strings.Index(s.text[s.at+2:], s.text[s.at+1:s.at+2]+"]")
				if end < 0 || strings.IndexByte(s.text[s.at:s.at+2+end], delimiter) >= 0 {
					return false
				}
				s.at += end + 3
				continue
			}
			if c == ']' && !first {
				bracket = -1
			}
		case c == '\\':
			s.at++
			if s.done() {
				return false
			}
		case c == delimiter:
			s.at++
			return true
		case c == '[' && regexp:
			bracket = s.at
		case c == '\n' && regexp:
			return false
		}
	}
	return false
}

func (s *sedParser) substitute() string {
	delimiter := s.peek()
	s.at++
	if !s.regexp(delimiter) {
		return sedUnclear
	}
	to, odd := s.at, s.odd
	if !s.delimited(delimiter, false) {
		return sedUnclear
	}
	// A sed to which brackets mean nothing has to stumble over what comes next: to it, that
	// is where the flags are.
	if odd && (s.at <= to || strings.IndexByte("gpiImMew0123456789 \t\n;}#", s.text[to]) >= 0) {
		return sedUnclear
	}
	if !s.writes && escapes(s.text[to:s.at], sedControls) {
		return sedShows
	}
	for !s.done() {
		switch c := s.peek(); {
		case strings.IndexByte("gpiImM0123456789", c) >= 0:
			s.at++
		case c == 'e':
			return "runs commands (s///e)"
		case c == 'w' && s.writes:
			s.line()
			return ""
		case c == 'w':
			return "writes files (s///w)"
		default:
			return s.end()
		}
	}
	return ""
}

// line passes the rest of a line, which is a name.
func (s *sedParser) line() {
	for !s.done() && s.peek() != '\n' {
		s.at++
	}
}

// end passes what ends a command.
func (s *sedParser) end() string {
	s.skip(" \t")
	switch s.peek() {
	case 0, '\n', ';', '}', '#':
		return ""
	}
	return sedUnclear
}

// label passes a label; versions differ in whether it goes on after a semicolon.
func (s *sedParser) label(c byte) string {
	s.labels = s.labels || c == ':'
	s.skip(" \t")
	start := s.at
	for !s.done() && strings.IndexByte("\n; \t}", s.peek()) < 0 {
		s.at++
	}
	if s.peek() != 0 && s.peek() != '\n' {
		s.labels = true
	}
	for _, r := range s.text[start:s.at] {
		if r != '_' && r != '-' && !(r >= '0' && r <= '9') && !(r >= 'a' && r <= 'z') && !(r >= 'A' && r <= 'Z') {
			return sedUnclear
		}
	}
	return s.end()
}

// lines passes the text of a, i and c, which goes on after a backslash.
func (s *sedParser) lines() string {
	start := s.at
	defer func() {
		text := s.text[start:min(s.at, len(s.text))]
		// A first backslash may only say where the text begins.
		s.shows = s.shows || escapes(text, sedControls) || escapes(strings.TrimPrefix(text, `\`), sedControls)
	}()
	for !s.done() {
		switch s.peek() {
		case '\\':
			s.at++
		case '\n':
			s.at++
			return ""
		}
		s.at++
	}
	return ""
}
