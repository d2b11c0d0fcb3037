package gate

import "github.com/troupe-dev/troupe"

// Mode is what a permission mode means. A child is held to its own mode and to its
// parent's: it may do what both allow.
type Mode struct {
	// Ceiling is the most a call may do; beyond it no rule helps.
	Ceiling troupe.Class
	// Self is the most a call may do without a rule. Reads and edits are free in the
	// session's own folders only, unless Self is ClassExec.
	Self troupe.Class
	// OnAsk is what becomes of a call that nothing decided.
	OnAsk troupe.Effect
	// Judged: of a call that would be asked about, the user's model is asked first, and its yes counts. A mode that
	// asks nothing has no objection.
	Judged bool
}

// Meaning says what a mode means. A name that is not known means reading only, and never
// asking: the strictest there is.
func Meaning(m troupe.Mode) (meaning Mode, known bool) {
	switch m {
	case troupe.ModeDefault:
		return Mode{Ceiling: troupe.ClassExec, Self: troupe.ClassRead, OnAsk: troupe.Ask}, true
	case troupe.ModeAuto:
		return Mode{Ceiling: troupe.ClassExec, Self: troupe.ClassRead, OnAsk: troupe.Ask, Judged: true}, true
	case troupe.ModeAcceptEdits:
		return Mode{Ceiling: troupe.ClassExec, Self: troupe.ClassEdit, OnAsk: troupe.Ask}, true
	case troupe.ModePlan:
		return Mode{Ceiling: troupe.ClassRead, Self: troupe.ClassRead, OnAsk: troupe.Deny}, true
	case troupe.ModeDontAsk:
		return Mode{Ceiling: troupe.ClassExec, Self: troupe.ClassRead, OnAsk: troupe.Deny}, true
	case troupe.ModeBypass:
		return Mode{Ceiling: troupe.ClassExec, Self: troupe.ClassExec, OnAsk: troupe.Allow, Judged: true}, true
	default:
		return Mode{Ceiling: troupe.ClassRead, Self: troupe.ClassRead, OnAsk: troupe.Deny}, false
	}
}

func meaningOf(m troupe.Mode) Mode {
	meaning, _ := Meaning(m)
	return meaning
}

// Standing is what the modes of a line of authority leave its last session, the mode that comes to that,
// and the most that its commands are left.
func Standing(line []Layer) (name troupe.Mode, mode Mode, bound troupe.Level) {
	bound = boundOf(line)
	for i := range line {
		m, _ := Meaning(line[i].Mode)
		if i == 0 {
			mode = m
		}
		mode = Mode{min(mode.Ceiling, m.Ceiling), min(mode.Self, m.Self), stricter(mode.OnAsk, m.OnAsk),
			mode.Judged && m.Judged}
	}
	for i := len(line) - 1; i >= 0; i-- {
		if m, _ := Meaning(line[i].Mode); m == mode {
			return line[i].Mode, mode, bound
		}
	}
	if len(line) > 0 && mode == meaningOf(troupe.ModeDefault) {
		return troupe.ModeDefault, mode, bound // what auto and acceptEdits both leave
	}
	return troupe.ModePlan, mode, bound // there is no line: nothing but reading
}

// strictness orders effects; what is not an effect counts as a denial.
func strictness(e troupe.Effect) int {
	switch e {
	case troupe.Allow:
		return 0
	case troupe.Ask:
		return 1
	default:
		return 2
	}
}

func stricter(a, b troupe.Effect) troupe.Effect {
	if strictness(b) > strictness(a) {
		return b
	}
	return a
}
