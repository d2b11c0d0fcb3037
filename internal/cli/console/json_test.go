package console

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestJSONActsOnNoTerminal: JSON that is looked at in a terminal does nothing there and hides nothing, and means what
// it meant.
func TestJSONActsOnNoTerminal(t *testing.T) {
	t.Parallel()
	type words struct {
		Text string          `json:"text"`
		Raw  json.RawMessage `json:"raw"`
	}
	for _, text := range []string{"plain", "grüße 你好 🎭", "a\u009b31m", "\u202egnp.exe", "\u2066x\u2069", "\u00ad",
		"\U000e0041",
		"\x7f", "</tag> & <b>"} {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := (&Console{Out: &b}).JSON(words{text, raw}); err != nil {
			t.Fatal(err)
		}
		var got words
		var again string
		if err := json.Unmarshal(b.Bytes(), &got); err != nil || got.Text != text {
			t.Errorf("%q became %q: %v", text, got.Text, err)
		}
		if err := json.Unmarshal(got.Raw, &again); err != nil || again != text {
			t.Errorf("%q became %q: %v", text, again, err)
		}
		if strings.ContainsAny(b.String(), "\u009b\u202e\u2066\u00ad\U000e0041\x7f") {
			t.Errorf("%q is printed as %q", text, &b)
		}
		if text == "grüße 你好 🎭" && !strings.Contains(b.String(), text) {
			t.Errorf("%q is printed as %s", text, &b)
		}
	}
	var b bytes.Buffer
	if err := (&Console{Out: &b}).JSON(json.RawMessage("{\"a\":\"\x9b31m\"}")); err != nil || !utf8.Valid(b.Bytes()) {
		t.Errorf("%q, %v", &b, err)
	}
}
