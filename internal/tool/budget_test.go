package tool_test

import (
	"slices"
	"testing"

	"github.com/troupe-dev/troupe/internal/tool/agent"
	"github.com/troupe-dev/troupe/internal/tool/files"
	"github.com/troupe-dev/troupe/internal/tool/search"
	"github.com/troupe-dev/troupe/internal/tool/shell"
	"github.com/troupe-dev/troupe/internal/tool/task"
)

// Tools are sent with every prompt of every agent: together they must stay small.
func TestToolsStaySmall(t *testing.T) {
	t.Parallel()
	specs := append(task.Specs(), agent.Spec(), shell.New(shell.Options{}).Spec())
	for _, r := range slices.Concat(files.New(files.Options{}), search.New(search.Options{})) {
		specs = append(specs, r.Spec())
	}
	total := 0
	for _, s := range specs {
		n := len(s.Name) + len(s.Description) + len(s.Schema)
		t.Logf("%s: %d + %d bytes", s.Name, len(s.Description), len(s.Schema))
		total += n
	}
	if t.Logf("together %d bytes", total); len(specs) != 10 || total > 9<<10 {
		t.Errorf("%d tools take %d bytes, more than 9 KB", len(specs), total)
	}
}
