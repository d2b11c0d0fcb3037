package turn_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
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
