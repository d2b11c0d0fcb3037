package turn

import (
	"cmp"
	"slices"

	"github.com/troupe-dev/troupe"
)

// following is which skills a session uses.
type following struct {
	uses    []troupe.SkillUse // by name, the last use of each
	changed int64             // event that changed it last
	// before is what the session's replies were asked for before a skill wanted another model or effort.
	before *asked
}

// asked is what replies are asked for.
type asked struct {
	model  string
	effort troupe.Effort
}

// wanted is what the skill wants that was used last of those in use that want something; skill is "" if none does.
func (k *following) wanted(now asked) (want asked, skill string) {
	for i := len(k.uses) - 1; i >= 0; i-- {
		if u := k.uses[i]; u.Model != "" || u.Effort != "" {
			return asked{cmp.Or(u.Model, now.model), cmp.Or(u.Effort, now.effort)}, u.Name
		}
	}
	return asked{}, ""
}

// forSkill has the next replies come from the model, and with the effort, that a skill in use wants; and from those of
// before once none does.
func (d *decision) forSkill() (Switch, bool) {
	k, own := &d.s.skills, asked{d.s.Profile.Model, d.s.Profile.Effort}
	if k.before != nil {
		own = *k.before
	}
	want, skill := k.wanted(own)
	switch {
	case skill == "" && k.before == nil:
		return Switch{}, false
	case skill == "":
		return Switch{Model: own.model, Effort: own.effort, Back: true,
			Why: "no skill that wants another is in use"}, true
	case want == asked{d.s.Profile.Model, d.s.Profile.Effort}:
		return Switch{}, false
	}
	return Switch{Model: want.model, Effort: want.effort, Skill: skill, Why: "the skill " + skill + " wants it"}, true
}

// modelChanged: what comes without a skill's wish ends such wishes. What a person chose is not taken back by the end of
// a skill.
func modelChanged(f *fold, b troupe.ModelChanged) {
	p, k := &f.s.Profile, &f.s.skills
	switch before := k.before; {
	case b.Skill != "" && before == nil:
		k.before = &asked{p.Model, p.Effort}
	case b.Skill != "":
	case b.Back || b.Caller != nil:
		if before != nil {
			p.Effort = before.effort
		}
		k.before = nil
		wishless(f)
	default:
		wishless(f)
	}
	if p.Model, f.s.Session.Model = b.Model, b.Model; b.Effort != "" || b.Back {
		p.Effort = b.Effort
	}
}

// wishless has skills in use want no other model or effort any more.
func wishless(f *fold) {
	f.s.skills.uses = slices.Clone(f.s.skills.uses)
	for i := range f.s.skills.uses {
		f.s.skills.uses[i].Model, f.s.skills.uses[i].Effort = "", ""
	}
}

// Skills are the skills that the session uses: whose folders it may read, and which leave it fewer tools for now.
func (s *State) Skills() []troupe.SkillUse { return s.skills.uses }

// SkillsChanged reports whether the last event changed Skills.
func (s *State) SkillsChanged() bool {
	return s.skills.changed > 0 && s.skills.changed == s.Session.Seq
}

// use notes a skill. The list is never changed in place, for copies of the state share it.
func (f *fold) use(u troupe.SkillUse) {
	u.Ran, u.Left = nil, nil
	uses := slices.DeleteFunc(slices.Clone(f.s.skills.uses), func(k troupe.SkillUse) bool { return k.Name == u.Name })
	f.s.skills.uses, f.s.skills.changed = append(uses, u), f.e.Seq
}

// prompted: a person's next words end what skills took away, and may begin with a command that takes away anew.
func (f *fold) prompted(m troupe.Mail) {
	if m.PersonsPrompt() {
		narrowed := slices.ContainsFunc(f.s.skills.uses, narrows)
		wishless(f)
		for i := range f.s.skills.uses {
			f.s.skills.uses[i].Narrows = nil
		}
		if narrowed {
			f.s.skills.changed = f.e.Seq
		}
	}
	if m.Uses != nil {
		f.use(*m.Uses)
		if m.Uses.Ran != nil {
			f.s.Evidence.Commands = append(f.s.Evidence.Commands, m.Uses.Ran...)
		}
	}
}

func narrows(u troupe.SkillUse) bool { return u.Narrows != nil }
