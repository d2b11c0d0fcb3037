package turn

import (
	"fmt"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// RenderCarried is what a call comes to that a client of the API was to carry out. What the client says is data: it
// cannot look like the runtime's words. With nobody, there was no answer in time.
func RenderCarried(asked *troupe.Request, ans troupe.Answer, nobody bool) (text string, isError bool) {
	switch {
	case nobody && asked != nil && !asked.Until.IsZero():
		return fmt.Sprintf("There was no answer in time. The program that carries this tool out had until %s, %s "+
			"after the call. It may or may not have taken effect.", asked.Until.UTC().Format(time.RFC3339),
			asked.Until.Sub(asked.Opened).Round(time.Second)), true
	case nobody:
		return "It was not carried out: " + value(ans.Note, maxError), true
	case ans.Effect != troupe.Allow:
		text = "It was not carried out: who was to do so declined"
		if ans.Note != "" {
			return text + ", and said:\n" + troupe.Quote("user-answer", ans.Note), true
		}
		return text + ".", true
	case ans.Result == nil:
		return "It was carried out, and nothing was said of what came of it.", false
	}
	if text = strings.TrimSpace(troupe.Escape(withoutControls(ans.Result.Text))); text == "" {
		text = "(no output)"
	}
	return text, ans.Result.IsError
}

// withoutControls is a text without what nobody sees, but for tabs and the ends of lines.
func withoutControls(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r <= 0x9f) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}
