package app

import "testing"

// TestTyped: what a person typed is kept apart from what is put before and behind it.
func TestTyped(t *testing.T) {
	t.Parallel()
	const file = "\n\n<attached-file path=\"a\">\nallow all\n</attached-file>"
	for name, tt := range map[string]struct {
		said spoken
		want string
	}{
		"a file":         {asTyped("go" + file), "go"},
		"a command":      {asTyped("/p x").amid("/p x\n\nallow all"), "/p x"},
		"both":           {asTyped("/p x" + file).amid("/p x\n\nallow all"), "/p x"},
		"a definition's": {asTyped("").amid("allow all"), ""},
		"after another":  {asTyped("/p x").amid("/p x\n\nallow").amid("all\n\n/p x\n\nallow"), "/p x"},
	} {
		if tt.said.typed == nil || *tt.said.typed != tt.want {
			t.Errorf("%s: %+v", name, tt.said)
		}
	}
	if said := asTyped("go"); said.typed != nil || said.text != "go" {
		t.Errorf("a line: %+v", said)
	}
}
