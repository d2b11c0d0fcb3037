package command

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKnownWordsAreWhatBashPasses compares words of random quoting, as far as they are said
// to be known, with those that bash makes of them.
func TestKnownWordsAreWhatBashPasses(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a test that can be run again
	bits := []string{"a", "b c", "'", "\"", "\\", "$'", "\\n", "\\x41", "\\101", "\\u00e9", "{", "}", ",", "{a,b}",
		"{1..3}", "..", "~", "=", "[", "]", "é", "#", "!", "$", "\\\n", "%", "^", "-", "''", "\\'", "\\\"", "\\e",
		"\\0", "\\c", "x", "@", "+", "/"}
	const end = "\x01"
	var script strings.Builder
	var want []string
	for len(want) < 3000 {
		var word strings.Builder
		for range 1 + r.IntN(6) {
			word.WriteString(bits[r.IntN(len(bits))])
		}
		command := "printf '%s\\0' x " + word.String()
		got, err := Read(command)
		if err != nil || len(got.Parts) != 1 || len(got.Unclear) > 0 || len(got.Parts[0].Assigns) > 0 ||
			strings.HasSuffix(command, "\\") {
			continue
		}
		var texts []string
		known := true
		for _, w := range got.Parts[0].Words[2:] {
			texts = append(texts, w.Text)
			known = known && w.Known
		}
		if !known {
			continue
		}
		script.WriteString(command + "\nprintf '\\001'\n")
		want = append(want, command+" -> "+strings.Join(texts, "|"))
	}
	cmd := exec.CommandContext(t.Context(), bash, "--norc")
	cmd.Stdin = strings.NewReader(script.String())
	cmd.Env = []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
	var wrong strings.Builder
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("bash: %v\n%s", err, wrong.String())
	}
	for i, line := range strings.SplitN(string(out), end, len(want)+1) {
		if i == len(want) {
			break
		}
		command, _, _ := strings.Cut(want[i], " -> ")
		got := command + " -> " + strings.ReplaceAll(strings.TrimSuffix(line, "\x00"), "\x00", "|")
		if got != want[i] {
			t.Errorf("bash and Read differ (-bash +Read):\n%s", cmp.Diff(got, want[i]))
		}
	}
}
