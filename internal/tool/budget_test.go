package tool_test

import (
	"testing"

	"github.com/troupe-dev/troupe/internal/tool/all"
)

// Tools are sent with every prompt of every agent: together they must stay small.
func TestToolsStaySmall(t *testing.T) {
	t.Parallel()
	tools, total := all.Known(), 0
	for _, f := range tools.Callable() {
		d, _ := tools.Find(f.Name)
		n := len(d.Name) + len(d.Description) + len(d.Schema)
		t.Logf("%s: %d + %d bytes", d.Name, len(d.Description), len(d.Schema))
		if d.Name != "WebFetch" && d.Name != "NotebookEdit" {
			total += n
		}
	}
	const most = 14 << 10 // of the 24 KB that the main agent's tools and prompt may have
	t.Logf("together %d bytes", total)
	if n := len(tools.Callable()); n != 27 {
		t.Errorf("there are %d tools, want 27", n)
	}
	if total > most {
		t.Errorf("the tools take %d bytes of each prompt, more than %d", total, most)
	}
}
