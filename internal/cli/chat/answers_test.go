package chat

import (
	"reflect"
	"testing"

	"github.com/troupe-dev/troupe/internal/wire"
)

// TestAnswersMeanWhatTheySay: what holds for the session is not written down for the folder, what is
// allowed once is not a rule, and no answer is taken for a wider one.
func TestAnswersMeanWhatTheySay(t *testing.T) {
	t.Parallel()
	once, session := wire.Answer{Allow: true}, wire.Answer{Allow: true, Session: true}
	always := wire.Answer{Allow: true, Session: true, Always: true}
	for word, want := range map[string]wire.Answer{
		"y": once, "yes": once, "Y": once, "s": session, "session": session, "S": session,
		"a": always, "always": always,
		"n": {}, "no": {}, "no, use make": {Note: "use make"},
	} {
		m := machine{terminal: true, begun: true, settled: map[string]bool{},
			asks: []wire.Request{{ID: "r", Path: "main", Grant: "Bash(make)"}}}
		var got []wire.Answer
		for _, a := range m.line(word, m.mark) {
			if a.kind == actAnswer {
				got = append(got, a.answer)
			}
		}
		if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%q answers %+v, want %+v", word, got, want)
		}
	}
}
