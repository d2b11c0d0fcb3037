package render_test

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat/render"
)

// TestPlanIsShownOnce: the file of a plan is shown where a person is asked about it, and not as a diff before that.
func TestPlanIsShownOnce(t *testing.T) {
	t.Parallel()
	v := render.New(root, render.Options{Local: time.UTC, Cwd: "/p"})
	planning := troupe.Authority{Mode: troupe.ModePlan, Planning: &troupe.Planning{File: "/data/plans/mend.md"}}
	wrote := func(reply int, path string) []troupe.Body {
		done := result(reply, 0, "Write", "ok", false)
		done.Evidence.Files = []troupe.FileTouch{{Path: path, Wrote: true}}
		return []troupe.Body{replied(reply, call(reply, 0, "Write", `{"file_path":"`+path+`","content":"1. Look."}`)),
			done}
	}
	bodies := []troupe.Body{troupe.AuthorityChanged{Authority: planning}}
	bodies = append(bodies, wrote(1, "/data/plans/mend.md")...)
	bodies = append(bodies, troupe.AuthorityChanged{Authority: troupe.Authority{Mode: troupe.ModeDefault}})
	bodies = append(bodies, wrote(2, "/data/plans/mend.md")...)
	for i, b := range bodies {
		v.Event(troupe.Event{Session: root, Seq: int64(i + 1), Body: b})
	}
	got, _ := v.Take()
	if n := strings.Count(got, "1. Look."); n != 1 || !strings.Contains(got, "Write /data/plans/mend.md") {
		t.Errorf("%d times:\n%s", n, got)
	}
}
