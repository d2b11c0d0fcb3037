package reader

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A terminal obeys control characters: they may clear it, set its title, or have it type.
const controlsTerminal = "sends control characters to the terminal"

// rawControls: the word holds control characters other than those of plain text.
func rawControls(word Word, allowed string) bool {
	if word.Known {
		return isControl(word.Text, allowed)
	}
	for _, p := range word.pieces {
		if isControl(p.text, allowed) {
			return true
		}
	}
	return false
}

func isControl(text, allowed string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return (r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0) && !strings.ContainsRune(allowed, r)
	})
}

// controls: the text has escapes other than for newlines, tabs, quotes and backslashes.
func controls(text string) bool { return escapes(text, "abeEfrvcxuU01234567") }

// controlsButNull is the same for programs whose \0 is a NUL, which terminals ignore.
func controlsButNull(text string) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if rest := strings.TrimLeft(text[i:], "0"); text[i] == '0' && (rest == "" || rest[0] < '0' || rest[0] > '7') {
			continue
		}
		if escapes(text[i-1:i+1], "abeEfrvcxuU01234567") {
			return true
		}
	}
	return false
}

// escapes: a backslash stands before one of the signs, and none before it.
func escapes(text, signs string) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if strings.IndexByte(signs, text[i]) >= 0 {
			return true
		}
	}
	return false
}

// escapesIn: some program could make a control character out of a text in the command, if it
// came there by a way that is only known when it runs.
func escapesIn(command string) bool {
	for i := 0; i+2 < len(command); i++ {
		if command[i] != '\\' {
			continue
		}
		next, after := command[i+1], command[i+2]
		switch {
		case strings.IndexByte("eEuUa", next) >= 0, next == 'c' && after == '[', next == 'x' && digit(after) < 16, digit(next) < 4 && digit(after) < 8:
			return true
		}
	}
	return false
}

// texts are all that is known of what a word holds.
func (j *judge) partsOf(a arg) []string {
	switch {
	case a.known:
		return []string{a.text}
	case a.texts != nil:
		return a.texts
	}
	var out []string
	for _, p := range a.word.pieces {
		switch p.kind {
		case pieceText:
			out = append(out, p.text)
		case pieceVar:
			out = append(out, j.values[p.text].texts...)
			for _, word := range j.values[p.text].words {
				for _, inner := range word.pieces {
					if inner.kind == pieceText {
						out = append(out, inner.text)
					}
				}
			}
		case pieceNumber, pieceOutput, pieceFile, pieceOther:
		}
	}
	return out
}

// show judges echo and printf.
func (j *judge) show(name string, args []arg) string {
	interpreted := false // what escapes stand for is written
	if name == "echo" {
		for len(args) > 0 {
			a := args[0]
			option := a.known && len(a.text) > 1 && strings.Trim(a.text, "neE") == "-"
			if !option && (a.known || !a.dash) {
				break
			}
			interpreted = interpreted || !option || strings.Contains(a.text, "e")
			if !option {
				break
			}
			args = args[1:]
		}
	} else {
		if len(args) > 0 && args[0].known && args[0].text == "--" {
			args = args[1:]
		}
		if len(args) == 0 {
			return ""
		}
		format := args[0]
		if !format.known || format.dash && strings.HasPrefix(format.text, "-v") {
			return "gives `printf` a format that is only known when it runs, or sets a variable"
		}
		if setsCount(format.text) {
			return "sets a variable by %n of `printf`"
		}
		interpreted = converts(format.text, 'b')
		if controls(format.text) {
			return controlsTerminal
		}
	}
	for _, a := range args {
		for _, text := range j.partsOf(a) {
			open := !a.known && a.texts == nil && interpreted && strings.HasSuffix(text, `\`)
			if open || interpreted && controls(text) || isControl(text, "") {
				return controlsTerminal
			}
		}
		if interpreted && !a.known && a.texts == nil && j.escaped {
			return controlsTerminal
		}
	}
	return ""
}

// setsCount: %n stores how much was printed in the variable that the argument names.
func setsCount(format string) bool { return converts(format, 'n') }

// converts: the format has a conversion, with whatever flags, width and precision.
func converts(format string, conversion byte) bool {
	for {
		k := strings.IndexByte(format, '%')
		if k < 0 {
			return false
		}
		format = strings.TrimLeft(format[k+1:], "-+ #0123456789'*.$hlLqjzt")
		if format != "" && format[0] == conversion {
			return true
		}
		format = strings.TrimPrefix(format, "%")
	}
}

// formatControls: a format of git's has %x1b, or one of for-each-ref %1b.
func formatControls(format string) bool {
	for i := 0; i+2 < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		code := strings.TrimPrefix(format[i+1:], "x")
		if len(code) < 2 || digit(code[0]) > 15 || digit(code[1]) > 15 {
			continue
		}
		switch n := digit(code[0])*16 + digit(code[1]); {
		case n == 0 || n == '\t' || n == '\n' || n >= 0x1c && n < 0x20: // they separate fields
		case n < ' ' || n == 0x7f, n == 0xc2 && strings.HasPrefix(format[i+1:], "x"):
			return true
		}
	}
	return false
}

// noControls refuses escapes in the values of options that interpret them.
func noControls(options ...string) func(*judge, *call) string {
	return func(j *judge, c *call) string {
		for _, v := range c.valuesOf(options...) {
			if slices.ContainsFunc(j.partsOf(v), controlsButNull) {
				return controlsTerminal
			}
		}
		return ""
	}
}

// translation: the second set of tr is what it writes.
func translation(j *judge, c *call) string {
	if len(c.operands) < 2 {
		return ""
	}
	to := c.operands[1]
	for _, text := range j.partsOf(to) {
		// A range that begins below the space holds control characters.
		if controlsButNull(text) || ranges(text) {
			return controlsTerminal
		}
	}
	if !to.known && to.texts == nil && j.escaped {
		return controlsTerminal
	}
	return ""
}

func ranges(text string) bool {
	for _, low := range []string{`\t-`, `\n-`, "\t-", "\n-"} {
		if strings.Contains(text, low) {
			return true
		}
	}
	return false
}
