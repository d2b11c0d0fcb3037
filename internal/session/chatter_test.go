package session_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/troupe-dev/troupe"
)

// TestChatter: agents that have written to each other more often than is set are told, and so is their lead, if neither
// has called another tool meanwhile.
func TestChatter(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		x    []troupe.Reply
		most int
		want []int // what Y reads of each message
	}{
		"too many": {[]troupe.Reply{call("SendMessage:Y a"), call("SendMessage:Y b"), call("SendMessage:Y c"),
			call("SendMessage:Y d"), say("done")}, 2, []int{0, 0, 3, 0}},
		"to all": {[]troupe.Reply{call("SendMessage:* a"), call("SendMessage:Y b"), call("SendMessage:* c"),
			call("SendMessage:* d"), say("done")}, 2, []int{0, 0, 3, 0}},
		"work between": {[]troupe.Reply{call("SendMessage:Y a"), call("SendMessage:Y b"), call("Read:z"),
			call("SendMessage:Y c"), call("SendMessage:Y d"), say("done")}, 2, []int{0, 0, 0, 0}},
		"a message that cannot be sent is no work": {[]troupe.Reply{call("SendMessage:Y a"), call("SendMessage:Y b"),
			call("SendMessage:Z c"), call("SendMessage:Y d"), say("done")}, 2, []int{0, 0, 3}},
		"not set": {[]troupe.Reply{call("SendMessage:Y a"), call("SendMessage:Y b"), call("SendMessage:Y c"),
			say("done")}, 0, []int{0, 0, 0}},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": {call("TeamCreate:t"), call("Member:Y"), call("Member:X"), say("ok")},
				"main/X": tt.x, "main/Y": {say("read it")}}.reply, func(p *process) {
				inTeam(p)
				p.settings.Policy.MaxMessages = tt.most
			}).lead().end()
			var got []int
			for _, e := range h.events(h.called("Y").ID) {
				b, ok := e.Body.(troupe.MailDelivered)
				for i := 0; ok && i < len(b.Mail); i++ {
					if m := b.Mail[i].Message; m != nil {
						got = append(got, m.Chatter)
					}
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: Y is told %d, not %d", name, got, tt.want)
			}
			told := 0
			for _, e := range h.events(h.root) {
				b, ok := e.Body.(troupe.MailDelivered)
				for i := 0; ok && i < len(b.Mail); i++ {
					if m := b.Mail[i].Message; m != nil && m.Type == troupe.MessageChatter {
						told++
					}
				}
			}
			if want := slices.Max(append(tt.want, 0)) / 3; told != want {
				t.Errorf("%s: the lead is told %d times", name, told)
			}
			h.checkTree()
			checkPrefix(t, p)
		})
	}
}
