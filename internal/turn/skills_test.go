package turn_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// What a skill takes away lasts until a person's next words, and not until an agent's; its folder stays readable.
func TestSkillsNarrow(t *testing.T) {
	t.Parallel()
	l := born(t, troupe.Limits{})
	use := troupe.SkillUse{Name: "s", Folder: "/s", Narrows: &troupe.Narrowing{Tools: []string{"Read"}}}
	l.turn(troupe.StopToolUse, "Skill").add(troupe.ToolFinished{Name: "Skill", Skill: &use,
		Result: troupe.Result{Reply: l.st.Reply(), Call: 0}})
	if !l.st.SkillsChanged() || len(l.st.Skills()) != 1 || l.st.Skills()[0].Narrows == nil {
		t.Fatal(l.st.Skills())
	}
	before := l.st.Clone()
	words := func(id troupe.MailID, from troupe.SessionID, uses *troupe.SkillUse) {
		l.add(troupe.MailDelivered{Mail: []troupe.Mail{{ID: id, From: from, Kind: troupe.MailPrompt, Uses: uses}}})
	}
	words("a", "parent", nil)
	if l.st.SkillsChanged() || l.st.Skills()[0].Narrows == nil {
		t.Error("an agent's words gave back what the skill took")
	}
	words("b", "", nil)
	if !l.st.SkillsChanged() || l.st.Skills()[0].Narrows != nil || l.st.Skills()[0].Folder != "/s" {
		t.Errorf("%+v", l.st.Skills())
	}
	words("c", "", &use)
	words("d", "", &troupe.SkillUse{Name: "other", Narrows: &troupe.Narrowing{}})
	if uses := l.st.Skills(); len(uses) != 2 || uses[0].Narrows != nil || uses[1].Narrows == nil {
		t.Errorf("%+v", uses)
	}
	if before.Skills()[0].Narrows == nil {
		t.Error("a copy of the state changed")
	}
}

// What a skill wants of the model lasts until a person's next words; what it was before comes back then, unless a
// person has chosen another meanwhile. A model that is not to be had is not wished for again.
func TestSkillsModel(t *testing.T) {
	t.Parallel()
	const usual, wish = "m/usual", "m/wish"
	begin := func() *life {
		l := born(t, troupe.Limits{})
		l.add(troupe.ModelChanged{Model: usual, Effort: troupe.EffortHigh, Caller: &troupe.Caller{}})
		return l
	}
	words := func(l *life, id troupe.MailID, uses *troupe.SkillUse) {
		l.add(troupe.MailDelivered{Mail: []troupe.Mail{{ID: id, Kind: troupe.MailPrompt, Uses: uses}}})
	}
	next := func(l *life, what string, want turn.Action) {
		t.Helper()
		if got := turn.Next(&l.st, inputs()); got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	call := turn.CallModel{Reply: 1, Attempt: 1}
	forSkill := turn.Switch{Model: wish, Effort: troupe.EffortHigh, Skill: "s", Why: "the skill s wants it"}
	back := turn.Switch{Model: usual, Effort: troupe.EffortHigh, Back: true,
		Why: "no skill that wants another is in use"}
	changed := func(s turn.Switch) troupe.ModelChanged {
		return troupe.ModelChanged{Model: s.Model, Effort: s.Effort, Skill: s.Skill, Back: s.Back, Why: s.Why}
	}
	s := &troupe.SkillUse{Name: "s", Model: wish}

	l := begin()
	next(l, "without a skill", call)
	words(l, "a", s)
	next(l, "with one", forSkill)
	l.add(changed(forSkill))
	next(l, "once it has what it wants", call)
	words(l, "b", nil)
	next(l, "after a person's next words", back)
	l.add(changed(back))
	next(l, "once it is as before", call)
	if l.st.Profile.Model != usual || l.st.Session.Model != usual || l.st.Profile.Effort != troupe.EffortHigh {
		t.Errorf("it is %s, %s, %s", l.st.Profile.Model, l.st.Session.Model, l.st.Profile.Effort)
	}

	words(l, "c", &troupe.SkillUse{Name: "low", Effort: troupe.EffortLow})
	low := turn.Switch{Model: usual, Effort: troupe.EffortLow, Skill: "low", Why: "the skill low wants it"}
	next(l, "for an effort alone", low)
	l.add(changed(low), troupe.ModelChanged{Model: "m/person", Caller: &troupe.Caller{}})
	next(l, "once a person chose another", call)
	words(l, "d", nil)
	next(l, "and later", call)
	if l.st.Profile.Effort != troupe.EffortHigh {
		t.Errorf("of a skill's wish the effort %q is left", l.st.Profile.Effort)
	}

	l = begin()
	words(l, "a", s)
	l.add(changed(forSkill), troupe.ModelChanged{Model: "m/fallback"})
	next(l, "where its model is not to be had", back)
	l.add(changed(back))
	next(l, "and not once more", call)
}
