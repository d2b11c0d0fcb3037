package command

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// unreadableError: a command that cannot be taken apart, so that nothing can be said about
// what it runs. Problem is a phrase for people; Line and Column (in bytes, both from 1) say
// where, and are 0 if it is no one place.
type unreadableError struct {
	Problem      string
	Line, Column int
}

func (e *unreadableError) Error() string {
	if e.Line == 0 {
		return "the command cannot be read: " + e.Problem
	}
	return fmt.Sprintf("the command cannot be read: line %d, column %d: %s", e.Line, e.Column, e.Problem)
}

// maxLength is the longest argument that Linux passes to a program, which a command is to
// bash. It also bounds how deep the parser can recurse.
const maxLength = 128 << 10

// check refuses what the parser and bash, or bash and the person who is asked, would read in
// two ways. It has to come before parsing: the parser skips carriage returns, for one, and
// bash runs what comes after them.
func check(command string) *unreadableError {
	if len(command) >= maxLength {
		return &unreadableError{
			Problem: fmt.Sprintf("it is longer than the %d bytes that a shell can be given", maxLength-1),
		}
	}
	var before rune
	for i := 0; i < len(command); {
		r, n := utf8.DecodeRuneInString(command[i:])
		if r == utf8.RuneError && n <= 1 {
			return at(command, i, fmt.Sprintf("byte 0x%02x is not valid UTF-8", command[i]))
		}
		after := rune(0)
		if r == '\u200c' || r == '\u200d' {
			after, _ = utf8.DecodeRuneInString(command[i+n:])
		}
		if problem := hidden(r, before, after); problem != "" {
			return at(command, i, problem)
		}
		before = r
		i += n
	}
	return nil
}

// hidden says what is wrong with a character, or nothing.
func hidden(r, before, after rune) string {
	filler := r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 // letters that are not seen
	switch {
	case r == '\t' || r == '\n' || r >= ' ' && r < 0x7f:
		return ""
	case r == '\r':
		return "a carriage return, which shells and people read in different ways"
	case unicode.IsControl(r):
		return fmt.Sprintf("a control character (U+%04X)", r)
	case unicode.Is(unicode.Bidi_Control, r):
		return fmt.Sprintf("a character that changes the direction of the text (U+%04X), so that it does not run "+
			"in the order in which it is shown", r)
	case unicode.In(r, unicode.Zl, unicode.Zp):
		return fmt.Sprintf("a line separator that is none to the shell (U+%04X)", r)
	case unicode.Is(unicode.Zs, r):
		return fmt.Sprintf("a space that is none to the shell (U+%04X)", r)
	case (r == 0x200c || r == 0x200d) && before > 0x7f && after > 0x7f:
		return "" // scripts and emoji need joiners, between letters of their own
	case unicode.Is(unicode.Cf, r) || filler || r >= 0xe0000 && r <= 0xe0fff:
		return fmt.Sprintf("an invisible character (U+%04X)", r)
	}
	return ""
}

func at(command string, offset int, problem string) *unreadableError {
	head := command[:offset]
	return &unreadableError{
		Problem: problem,
		Line:    1 + strings.Count(head, "\n"),
		Column:  offset - strings.LastIndexByte(head, '\n'),
	}
}

// maxNesting keeps the parser, which calls itself for whatever stands in something else, from
// using up the stack, which would end the process. What it counts is rough.
const maxNesting = 3000

func nesting(command string) int {
	most, brackets, words := 0, 0, 0
	for i := 0; i < len(command); i++ {
		switch command[i] {
		case '(', '{', '[':
			brackets++
		case ')', '}', ']':
			brackets = max(brackets-1, 0)
		}
		most = max(most, brackets)
	}
	for word := range strings.FieldsFuncSeq(command, func(r rune) bool {
		return strings.ContainsRune(" \t\n;&|()",
			r)
	}) {
		switch word {
		case "if", "while", "until", "for", "case", "select", "coproc", "time", "!", "function":
			words++
		case "fi", "done", "esac":
			words = max(words-1, 0)
		}
		most = max(most, words)
	}
	return most
}

// parse turns a command into a tree. The parser is given text that may come from anybody:
// should it panic, the command is unreadable and the process lives on.
func parse(command string) (file *syntax.File, bad *unreadableError) {
	if bad := check(command); bad != nil {
		return nil, bad
	}
	if nesting(command) > maxNesting {
		return nil, &unreadableError{Problem: "commands stand too deep in one another"}
	}
	defer func() {
		if p := recover(); p != nil {
			file, bad = nil, &unreadableError{Problem: "its syntax is too unusual"}
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash),
		syntax.KeepComments(true)).Parse(strings.NewReader(command), "")
	if err == nil {
		return file, nil
	}
	var wrong syntax.ParseError
	if errors.As(err, &wrong) {
		return nil, unreadableAt(wrong.Pos, wrong.Text)
	}
	var dialect syntax.LangError
	if errors.As(err, &dialect) {
		return nil, unreadableAt(dialect.Pos, dialect.Feature+" are not bash")
	}
	return nil, &unreadableError{Problem: err.Error()}
}

func unreadableAt(pos syntax.Pos, problem string) *unreadableError {
	return &unreadableError{Problem: problem, Line: int(pos.Line()), Column: int(pos.Col())}
}
