package reader

import "strings"

// ofShell judges builtins that tell or change how the shell itself works: only what stops it
// sooner, and variables that nobody else knows.
func (j *judge) ofShell(name string, args []arg, p *Part) string {
	switch name {
	case "set":
		return setsOptions(args)
	case "export":
		if !exports(p) {
			return "gives variables to the programs that follow"
		}
		return exportsOwn(args)
	case "umask":
		return j.use(spec{flags: "Sp"}, name, args, p)
	case "ulimit":
		return j.use(spec{flags: "HSacdefilmnpqrstuvx"}, name, args, p)
	case "jobs":
		return j.use(spec{flags: "lprs", most: many, texts: many}, name, args, p)
	case "dirs":
		return j.use(spec{flags: "lpv"}, name, args, p)
	case "help":
		return j.use(spec{flags: "dms", most: many, texts: many}, name, args, p)
	}
	return j.show(name, args) // yes
}

// setsOptions: those by which a script stops sooner. Alone, set tells all
// variables; what follows "--" and the like becomes the words of the shell.
func setsOptions(args []arg) string {
	other := "changes how the shell reads what follows, or tells its variables"
	if len(args) == 0 {
		return other
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !a.known || len(a.text) < 2 || a.text[0] != '-' && a.text[0] != '+' || strings.Trim(a.text[1:], "euo") != "" {
			return other
		}
		for range strings.Count(a.text, "o") {
			i++
			if i >= len(args) || !args[i].known {
				return other
			}
			switch args[i].text {
			case "pipefail", "errexit", "nounset":
			default:
				return other
			}
		}
	}
	return ""
}

// exports: the part gives variables to the programs that follow, and it is known which.
func exports(p *Part) bool {
	return p.declared && len(p.Wrappers) == 0 && p.Via == "" && p.Words[0].Text == "export"
}

// exportsOwn: the variables are the command's own. What their values are was looked at before.
func exportsOwn(args []arg) string {
	if len(args) == 0 {
		return "tells the environment"
	}
	for _, a := range args {
		text := a.text
		if !a.known {
			text = a.word.lead()
		}
		name, value, sets := strings.Cut(text, "=")
		safe := sets && a.known && safePrefix(Assign{Name: name, Value: known(value)})
		if !a.known && !sets || !ownVariable(name) && !safe {
			return "gives the programs that follow the variable " + a.shown()
		}
	}
	return ""
}

// numeric: without quotes too, the word is a number, or nothing at all: it holds numbers that the
// shell works out, variables that never hold anything else, and what wc counts.
func (j *judge) numeric(word Word) bool {
	pieces := fullPieces(word)
	for _, p := range pieces {
		switch {
		case p.kind == pieceNumber:
		case p.kind == pieceText && strings.Trim(p.text, "0123456789") == "":
		case p.kind == pieceVar && j.command.numbers[p.text]:
		case p.kind == pieceOutput && p.count:
		default:
			return false
		}
	}
	return len(pieces) > 0
}
