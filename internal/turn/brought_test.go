package turn_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestBroughtFiles: what stands whole in a person's words is known to the session from their delivery on, unless a hook
// has refused the words.
func TestBroughtFiles(t *testing.T) {
	t.Parallel()
	l := born(t, troupe.Limits{})
	before := l.st.Clone()
	say := func(id troupe.MailID, hash string) {
		l.add(troupe.MailDelivered{Mail: []troupe.Mail{{ID: id, Kind: troupe.MailPrompt,
			Blocks: []troupe.Block{troupe.Text("look")}, Read: []troupe.FileTouch{{Path: "/a", Hash: hash}}}}})
	}
	say("one", "h1")
	if l.st.Files["/a"] != "h1" || before.Files["/a"] != "" {
		t.Errorf("after the words: %v, a copy from before: %v", l.st.Files, before.Files)
	}
	if len(l.st.Evidence.Files) != 0 {
		t.Errorf("it counts as written: %v", l.st.Evidence.Files)
	}
	say("two", "h2")
	refuse := func(id troupe.MailID) {
		l.add(troupe.HookRan{Event: troupe.HookPrompt, Effect: troupe.HookDenied, Mail: id})
	}
	if refuse("one"); l.st.Files["/a"] != "h2" {
		t.Errorf("words that were refused take the file of others along: %v", l.st.Files)
	}
	if refuse("two"); l.st.Files["/a"] != "" {
		t.Errorf("what no model sees counts as read: %v", l.st.Files)
	}
}
