package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/command"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// shell is a shell command and what reading it said. It is read once for each call, and
// only if a rule or a row wants to know.
type shell struct {
	text    string
	safeGit bool

	taken     bool // apart
	read      command.Command
	unclear   []string
	parts     []part
	calls     []form // as rules that deny see them
	files     []file // the files its words may name
	in        *folders
	variables *command.Variables
	hidden    *string // what in it makes names mean something else
	carries   string  // why a rule for its program does not cover it, for messages
	mayRead   string  // which file that is kept from agents it may read without naming it

	judged  bool
	verdict command.Verdict

	toolRule, exact hit // allow rules for the whole of it
	nameRule        hit // the first rule that denies or asks about commands by name
	readRules       []hit
	writeRule       hit // the first rule that denies or asks about edits
}

// part is one simple command, and the rule that allows it.
type part struct {
	command.Part
	by      hit
	free    bool // needs no rule
	weighed bool // free was worked out
	said    command.Verdict
	writes  []target
}

// target is a file that a redirect writes.
type target struct {
	name    string // absolute and clean; "" if it is not known before it runs
	nowhere bool   // nothing is kept of what is written to it
	inside  bool
	guards  []*guard
	by      hit
}

// note remembers what the rules that forbid make of commands nobody can read for certain.
func (m *shell) note(r *rule.Rule, layer int) {
	switch {
	case m.text == "":
	case r.Kind == rule.KindCommand:
		m.nameRule.take(r, layer)
	case r.HidesFiles():
		m.readRules = append(m.readRules, hit{r, layer, true})
	case len(r.Paths) > 0 && r.Edits():
		m.writeRule.take(r, layer)
	}
}

// parsed is the command, read if it was not yet.
func (c *call) parsed() *shell {
	m := &c.shell
	if m.taken {
		return m
	}
	m.taken = true
	read, err := command.Read(m.text)
	if err != nil {
		m.unclear = []string{err.Error()}
		return m
	}
	m.read, m.unclear = read, read.Unclear
	m.parts = make([]part, len(read.Parts))
	for i := range read.Parts {
		p := &m.parts[i]
		p.Part = read.Parts[i]
	}
	for i := range m.parts {
		p := &m.parts[i]
		for _, r := range p.Redirects {
			if r.Write {
				p.writes = append(p.writes, c.target(r.Path, p.Moved))
			}
		}
	}
	return m
}

// oneWord: what a redirect's word becomes is no name but this one.
func oneWord(w command.Word, text string) bool {
	return strings.HasPrefix(w.Text, "\"") || !strings.ContainsAny(text, " \t\n")
}

func (c *call) target(w command.Word, moved bool) target {
	var t target
	name := w.Text
	if !w.Known {
		said := c.vars().Expand(w)
		if len(said) != 1 || said[0].Cut || said[0].Glob || !oneWord(w, said[0].Text) {
			return t
		}
		name = said[0].Text
	}
	if name == "" {
		return t
	}
	switch {
	case command.PlainDevice(name, !c.shell.read.Redirected):
		t.nowhere = true
		return t
	case leadsElsewhere(name):
		return t // where a link leads, its parent is another one than the name says
	case path.IsAbs(name):
		t.name = path.Clean(name)
	case moved || !path.IsAbs(c.at.Project):
		return t
	default:
		t.name = path.Join(c.at.Project, name)
	}
	t.inside = c.isInside(t.name)
	t.guards = c.guarded(t.name)
	if c.resolve == nil {
		return t
	}
	if real := c.resolve(t.name); real != t.name && real != "" {
		// A rule has to cover the link and what it leads to; it is enough to know the latter
		// if the former is the session's own.
		t.inside = t.inside && c.isInside(real)
		t.guards = append(t.guards, c.guarded(real)...)
		if c.isInside(t.name) {
			t.name = real
		} else if !c.isInside(real) {
			t.name = ""
		}
	}
	return t
}

// obscures says what in the command gives a name another meaning, or runs a text that a program reads
// in its own way: then the names in it do not tell what it runs. It is "" if nothing does.
func (c *call) obscures() string {
	m := c.parsed()
	if m.hidden == nil {
		why := ""
		if m.read.Swaps(true) {
			why = "it sets a variable that decides which programs run"
		}
		for i := 0; i < len(m.parts) && why == ""; i++ {
			why = c.vars().Hides(&m.parts[i].Part)
		}
		m.hidden = &why
	}
	return *m.hidden
}

// clear reports whether it is known what the command runs.
func (c *call) clear() bool { return len(c.parsed().unclear) == 0 }

// doubtful: a rule forbids commands by name, and it is not known what this one runs.
func (v *view) doubtful() bool {
	return v.call.shell.nameRule.holds(v.layer) && (!v.call.clear() || v.call.shell.read.RunsInput() ||
		v.call.obscures() != "")
}

// blind: a rule is about what files are written, nobody can say which this command writes, and
// it would run where no sandbox holds it.
func (v *view) blind(level troupe.Level) bool {
	return level == troupe.LevelNone && v.call.shell.writeRule.holds(v.layer) && v.call.writesUnknown()
}

// writesUnknown: a redirect writes to a file whose name is only known when it runs.
func (c *call) writesUnknown() bool {
	if !strings.Contains(c.shell.text, ">") {
		return false
	}
	return slices.ContainsFunc(c.parsed().parts, func(p part) bool {
		return slices.ContainsFunc(p.writes, func(t target) bool { return t.name == "" && !t.nowhere })
	})
}

// redirects reports whether the command writes a file by a redirect. In doubt it does.
func redirects(c *call) bool {
	if !strings.Contains(c.shell.text, ">") {
		return false
	}
	m := c.parsed()
	return len(m.parts) == 0 || slices.ContainsFunc(m.parts, func(p part) bool {
		return slices.ContainsFunc(p.writes, func(t target) bool { return !t.nowhere })
	})
}

// verdictOf has package command judge the whole command.
func (c *call) verdictOf() *command.Verdict {
	m := &c.shell
	if !m.judged {
		m.judged, m.verdict = true, m.judge(m.text, c.at.Project)
	}
	return &m.verdict
}

// readsOnly reports whether the command changes nothing, and reads nothing that rules may
// keep from it, going by its text alone.
func (v *view) readsOnly() bool {
	return v.call.verdictOf().ReadOnly && !v.mayReadHidden(v.call.verdictOf())
}

// level is the level that comes nearest to the one wanted, of those that this machine has
// and the bound leaves room for; false if there is none.
func (v *view) level(want troupe.Level) (troupe.Level, bool) {
	want = want.Meet(v.bound)
	switch {
	case want == troupe.LevelNone || slices.Contains(v.call.levels, want):
		return want, true
	case want == troupe.LevelWorkspace && v.bound == troupe.LevelNone:
		return troupe.LevelNone, true
	case slices.Contains(v.call.levels, troupe.LevelReadOnly):
		return troupe.LevelReadOnly, true
	case !v.readsOnly():
		return "", false
	case slices.Contains(v.call.levels, troupe.LevelWorkspace):
		return troupe.LevelWorkspace, true
	default:
		return troupe.LevelNone, true
	}
}

// confine works out the levels of a verdict about a command.
func (v *view) confine(out *verdict) {
	want := troupe.LevelWorkspace
	if v.mode.Self == troupe.ClassExec {
		want = troupe.LevelNone
	}
	if v.mode.Ceiling < troupe.ClassExec {
		want = troupe.LevelReadOnly
	}
	out.leave, _ = v.level(want)
	switch {
	case out.effect != troupe.Allow:
		out.level = out.leave
	case out.step == StepReadOnlyRun:
		out.level, _ = v.level(troupe.LevelReadOnly)
	case out.step == StepAllowRule, v.mode.Self != troupe.ClassExec:
		out.level, _ = v.level(troupe.LevelWorkspace)
	default:
		out.level, _ = v.level(troupe.LevelNone)
	}
	if out.level == troupe.LevelNone && out.effect == troupe.Allow {
		return
	}
	switch {
	case out.leave == troupe.LevelNone && out.effect != troupe.Allow:
	case out.leave.Meet(troupe.LevelReadOnly) == out.leave, v.mode.OnAsk == troupe.Deny:
		out.beyond = troupe.Deny
	default:
		// Also where the mode allows everything: a bound is what somebody wanted to hold.
		out.beyond = troupe.Ask
	}
	if out.effect == troupe.Allow && out.beyond == troupe.Deny {
		out.leave = out.level
	}
}

func (v *view) commandByMode() (troupe.Effect, bool) {
	switch {
	case v.mode.Ceiling < troupe.ClassExec:
		return troupe.Deny, !slices.Contains(v.call.levels, troupe.LevelReadOnly) && !v.readsOnly()
	case v.bound == troupe.LevelReadOnly:
		return "", false
	case v.mode.Self == troupe.ClassExec:
		_, possible := v.level(troupe.LevelNone)
		return troupe.Allow, possible && !v.doubtful() && !v.blind(v.bound)
	case v.mode.Self >= troupe.ClassEdit:
		return troupe.Allow, v.onlyEdits()
	default:
		return "", false
	}
}

// onlyEdits: all that the command changes are files that its redirects name, and the mode
// allows those.
func (v *view) onlyEdits() bool {
	if _, possible := v.level(troupe.LevelWorkspace); !possible || !strings.Contains(v.call.shell.text, ">") ||
		!v.call.clear() {
		return false
	}
	some := false
	for i := range v.call.shell.parts {
		p := &v.call.shell.parts[i]
		for j := range p.writes {
			t := &p.writes[j]
			if !t.nowhere && !v.editedByMode(t) {
				return false
			}
			some = some || !t.nowhere
		}
	}
	return some && v.allAllowed(false)
}

func (v *view) editedByMode(t *target) bool {
	return v.mode.Self >= troupe.ClassEdit && t.inside && len(t.guards) == 0
}

// commandByRule reports whether allow rules cover the command: one the whole of it, or
// several all its parts and what their redirects write.
func (v *view) commandByRule() bool {
	m := &v.call.shell
	if v.bound == troupe.LevelReadOnly || v.mode.Ceiling < troupe.ClassExec {
		return false
	}
	level, possible := v.level(troupe.LevelWorkspace)
	if !possible {
		return false
	}
	if m.exact.holds(v.layer) {
		return true
	}
	if m.toolRule.holds(v.layer) {
		return !v.doubtful() && !v.blind(level) && v.guardsNamed()
	}
	return v.someRule() && v.call.clear() && v.allAllowed(true)
}

// someRule: a rule covers a part of the command, or what it writes.
func (v *view) someRule() bool { return v.cited() != nil }

// cited is the rule that is named for allowing the command.
func (v *view) cited() *rule.Rule {
	m := &v.call.shell
	switch {
	case m.exact.holds(v.layer):
		return m.exact.rule
	case m.toolRule.holds(v.layer):
		return m.toolRule.rule
	}
	for i := range m.parts {
		if p := &m.parts[i]; p.by.holds(v.layer) {
			return p.by.rule
		}
	}
	for i := range m.parts {
		for j := range m.parts[i].writes {
			if t := &m.parts[i].writes[j]; t.by.holds(v.layer) {
				return t.by.rule
			}
		}
	}
	return nil
}

// guardsNamed: what is protected and would be written is named by a rule.
func (v *view) guardsNamed() bool {
	if !strings.Contains(v.call.shell.text, ">") {
		return true
	}
	m := v.call.parsed()
	for i := range m.parts {
		for j := range m.parts[i].writes {
			if t := &m.parts[i].writes[j]; len(t.guards) > 0 && !t.by.holds(v.layer) {
				return false
			}
		}
	}
	return true
}

// allAllowed reports whether each part needs no rule or, if rules count, has one; and each
// redirect likewise.
func (v *view) allAllowed(rules bool) bool {
	m := v.call.parsed()
	for i := range m.parts {
		p := &m.parts[i]
		if p.Via != "" {
			continue // it runs because a part before it says so, which has to be covered
		}
		switch {
		case rules && p.by.holds(v.layer):
		case v.call.isFree(p):
		default:
			return false
		}
		if len(v.call.levels) == 0 && v.call.isFree(p) && v.mayReadHidden(&p.said) {
			return false
		}
		for j := range p.writes {
			if t := &p.writes[j]; !t.nowhere && !v.editedByMode(t) && (!rules || !t.by.holds(v.layer)) {
				return false
			}
		}
		if slices.ContainsFunc(p.Redirects, unsureInput) {
			return false
		}
	}
	return len(m.parts) > 0 && !m.read.Swaps(false)
}

// unsureInput: bash reads from the network where a path says so.
func unsureInput(r command.Redirect) bool {
	return !r.Write && (!r.Path.Known || strings.HasPrefix(r.Path.Text, "/dev/tcp/") || strings.HasPrefix(r.Path.Text,
		"/dev/udp/"))
}

// isFree: the part changes nothing by itself, so that it may stand beside others that rules allow.
func (c *call) isFree(p *part) bool {
	if !p.weighed {
		p.weighed, p.free = true, c.weigh(p)
	}
	return p.free
}

func (c *call) weigh(p *part) bool {
	if len(p.Words) == 0 {
		return !slices.ContainsFunc(p.Assigns, func(a command.Assign) bool {
			return !command.OwnVariable(a.Name) &&
				!command.SafeVariable(a)
		})
	}
	if !p.Words[0].Known || !safeAssigns(p.Assigns) {
		return false
	}
	name := p.Words[0].Text
	switch {
	case name == "cd":
		return c.staysInside(p)
	case command.ChangesShell(name):
		return false
	case p.Moved:
		p.said = c.shell.judge("cd elsewhere && "+p.Whole, c.at.Project)
	default:
		p.said = c.shell.judge(p.Whole, c.at.Project)
	}
	return p.said.ReadOnly
}

// staysInside: cd to a folder that is the session's own.
func (c *call) staysInside(p *part) bool {
	if len(p.Words) != 2 || !p.Words[1].Known || len(p.Wrappers) > 0 {
		return false
	}
	to := p.Words[1].Text
	if to == "" || to[0] == '-' || !path.IsAbs(c.at.Project) {
		return false
	}
	if !path.IsAbs(to) {
		if p.Moved && slices.Contains(strings.Split(to, "/"), "..") {
			return false
		}
		to = path.Join(c.at.Project, to)
	}
	to = path.Clean(to)
	return c.isInside(to) && (c.resolve == nil || c.isInside(c.resolve(to)))
}

// judge is what package command makes of the command, or of a part of it.
func (m *shell) judge(text, folder string) command.Verdict {
	return command.Judge(text, command.Options{SafeGit: m.safeGit, Folder: folder, Redirected: m.read.Redirected})
}

// leadsElsewhere: the path goes up again from a folder that it names, which may be a link, or it is one of
// those that are files of the process that opens them, or connections.
func leadsElsewhere(name string) bool {
	down := false
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." && down {
			return true
		}
		down = down || part != "" && part != "." && part != ".."
	}
	return slices.ContainsFunc([]string{"/proc/", "/dev/fd", "/dev/std", "/dev/tcp/", "/dev/udp/"},
		func(lead string) bool { return strings.HasPrefix(path.Clean(name), lead) })
}
