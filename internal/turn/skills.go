package turn

import (
	"slices"

	"github.com/troupe-dev/troupe"
)

// following is which skills a session uses.
type following struct {
	uses    []troupe.SkillUse // by name, the last use of each
	changed int64             // event that changed it last
}

// Skills are the skills that the session uses: whose folders it may read, and which leave it fewer tools for now.
func (s *State) Skills() []troupe.SkillUse { return s.skills.uses }

// SkillsChanged reports whether the last event changed Skills.
func (s *State) SkillsChanged() bool {
	return s.skills.changed > 0 && s.skills.changed == s.Session.Seq
}

// use notes a skill. The list is never changed in place, for copies of the state share it.
func (f *fold) use(u troupe.SkillUse) {
	u.Ran = nil
	uses := slices.DeleteFunc(slices.Clone(f.s.skills.uses), func(k troupe.SkillUse) bool { return k.Name == u.Name })
	f.s.skills = following{append(uses, u), f.e.Seq}
}

// prompted: a person's next words end what skills took away, and may begin with a command that takes away anew.
func (f *fold) prompted(m troupe.Mail) {
	if m.PersonsPrompt() && slices.ContainsFunc(f.s.skills.uses, narrows) {
		uses := slices.Clone(f.s.skills.uses)
		for i := range uses {
			uses[i].Narrows = nil
		}
		f.s.skills = following{uses, f.e.Seq}
	}
	if m.Uses != nil {
		f.use(*m.Uses)
		if m.Uses.Ran != nil {
			f.s.Evidence.Commands = append(f.s.Evidence.Commands, m.Uses.Ran...)
		}
	}
}

func narrows(u troupe.SkillUse) bool { return u.Narrows != nil }
