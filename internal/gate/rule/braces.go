package rule

import "strings"

// maxAlternatives is how many paths one rule may stand for.
const maxAlternatives = 64

// parsePaths reads the path of a rule: one pattern, or with {a,b} several. The problem, if not
// empty, completes the sentence "the path …".
func parsePaths(spec string) ([]Pattern, string) {
	if problem := mistakeInPath(spec); problem != "" {
		return nil, problem
	}
	texts, problem := alternatives(spec)
	if problem != "" {
		return nil, problem
	}
	out := make([]Pattern, 0, len(texts))
	for _, text := range texts {
		p, problem := ParsePattern(text)
		if problem != "" {
			return nil, problem
		}
		out = append(out, p)
	}
	return out, ""
}

// mistakeInPath finds what makes a path name nothing that there is.
func mistakeInPath(spec string) string {
	if spareParenthesis(spec) {
		return "has a parenthesis too many at its end"
	}
	if drive := strings.TrimPrefix(spec, "//"); len(drive) > 2 && drive[1] == ':' && (drive[2] == '\\' ||
		drive[2] == '/') {
		return "names a drive; begin it with // at the root of the disk"
	}
	for i := 0; i < len(spec); i++ {
		if spec[i] != '\\' {
			continue
		}
		if i++; i == len(spec) || strings.IndexByte("*?[]{},()!\\ #~$'\"&;", spec[i]) < 0 {
			return `has a \ where a / was probably meant`
		}
	}
	return ""
}

// alternatives writes out the braces of a pattern. Braces without a comma are text.
func alternatives(spec string) ([]string, string) {
	out, work := []string{}, []string{spec}
	for len(work) > 0 {
		text := work[0]
		work = work[1:]
		from, to, commas, problem := braces(text)
		if problem != "" {
			return nil, problem
		}
		if from < 0 {
			out = append(out, text)
		}
		for i := 0; from >= 0 && i <= len(commas); i++ {
			begin, end := from+1, to
			if i > 0 {
				begin = commas[i-1] + 1
			}
			if i < len(commas) {
				end = commas[i]
			}
			work = append(work, text[:from]+text[begin:end]+text[to+1:])
		}
		if len(out)+len(work) > maxAlternatives {
			return nil, "stands for too many paths"
		}
	}
	return out, ""
}

// braces finds the first braces with a comma, and the commas in them; from is -1 if there are none.
func braces(s string) (from, to int, commas []int, problem string) {
	type open struct {
		at     int
		commas []int
	}
	var stack []open
	first := open{at: -1}
	end := -1
	bracket := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case bracket:
			bracket = c != ']'
		case c == '[' && strings.IndexByte(s[i:], ']') > 0:
			bracket = true
		case c == '{':
			stack = append(stack, open{at: i})
		case c == ',' && len(stack) > 0:
			top := &stack[len(stack)-1]
			top.commas = append(top.commas, i)
		case c == '}' && len(stack) == 0:
			return -1, 0, nil, "has a brace that nothing opens"
		case c == '}':
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if len(top.commas) == 0 && strings.Contains(s[top.at:i], "..") {
				return -1, 0, nil, "has a range in braces, which is not supported"
			}
			if len(top.commas) > 0 && (first.at < 0 || top.at < first.at) {
				first, end = top, i
			}
		}
	}
	if len(stack) > 0 {
		return -1, 0, nil, "has a brace that is not closed"
	}
	return first.at, end, first.commas, ""
}

// guessPaths are the files that a path which cannot be read was probably meant for, so that
// commands are kept from those too.
func guessPaths(spec string) []Pattern {
	text := strings.TrimSpace(spec)
	for spareParenthesis(text) {
		text = strings.TrimSuffix(text, ")")
	}
	if len(text) > 2 && text[1] == ':' {
		text = strings.TrimLeft(text[2:], `\/`)
	}
	var out []Pattern
	for _, t := range []string{text, strings.ReplaceAll(text, `\`, "/"), strings.ReplaceAll(text, `\\`, "/")} {
		if problem := mistakeInPath(t); problem != "" {
			continue
		}
		if pats, problem := parsePaths(t); problem == "" {
			out = append(out, pats...)
		}
	}
	return out
}
