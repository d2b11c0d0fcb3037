package session_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestNewFileThatLanded: a file that was made before its process could say so is logged as new, so that undo removes
// it. One that was there before and held the same text already is not claimed, whether or not it was read.
func TestNewFileThatLanded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		there bool   // before the call
		dies  bool   // before it writes anything
		want  string // the result
	}{
		"it was made":         {want: "Changed f (1 lines added"},
		"it was not":          {dies: true, want: "may or may not"},
		"it was there before": {there: true, dies: true, want: "may or may not"},
	}
	for name, tt := range tests {
		dir := t.TempDir()
		file := filepath.Join(dir, "f")
		synctest.Test(t, func(t *testing.T) {
			if tt.there {
				if err := os.WriteFile(file, []byte("one\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			h := newHome(t)
			reply := plays{"main": {call(`Write:{"file_path":"f","content":"one\n"}`), say("ok")}}.reply
			p := h.start(reply, func(p *process) {
				p.deps = func(d *session.Deps) { d.Tools = dying(tt.dies) }
			}).beginAs(troupe.Caps{}, func(b *fleet.Birth) {
				b.Cwd, b.Profile.Tools = dir, append(b.Profile.Tools, "Write")
			})
			pass(10 * time.Second)
			p.pool.Close()
			h.adopt(reply, false, func(p *process) {
				p.deps = func(d *session.Deps) { d.Tools = onDisk() }
			}).end()
			wants(t, h.result(h.root, 1, 0), tt.want)
			for _, e := range h.events(h.root) {
				b, ok := e.Body.(troupe.ToolFinished)
				if ok && name == "it was made" && (len(b.Evidence.Files) != 1 || !b.Evidence.Files[0].New) {
					t.Errorf("the log has the change as %+v", b.Evidence.Files)
				}
			}
			h.checkTree()
		})
	}
}
