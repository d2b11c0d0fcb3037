package tool_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool/all"
)

// Tools are sent with every prompt of every agent: together they must stay small, in each vocabulary.
func TestToolsStaySmall(t *testing.T) {
	t.Parallel()
	const most = 14 << 10 // of the 24 KB that the main agent's tools and prompt may have
	tools := all.Known()
	for v, want := range map[troupe.Vocabulary]int{troupe.VocabularyAgents: 27, troupe.VocabularySubagents: 24} {
		total, n := 0, 0
		for _, f := range tools.Callable() {
			if !v.Has(f) {
				continue
			}
			n++
			d, _ := tools.Find(f.Name)
			t.Logf("%s: %d + %d bytes", d.Name, len(d.Description), len(d.Schema))
			if d.Name != "WebFetch" && d.Name != "NotebookEdit" {
				total += len(d.Name) + len(d.Description) + len(d.Schema)
			}
		}
		t.Logf("%s: together %d bytes", v, total)
		if n != want {
			t.Errorf("%s: there are %d tools, want %d", v, n, want)
		}
		if total > most {
			t.Errorf("%s: the tools take %d bytes of each prompt, more than %d", v, total, most)
		}
	}
}
