package session_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
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

// TestLandedIsLookedUpOutside: what a change did to its file is looked up while no transaction is open, for all of a
// home's sessions wait for that.
func TestLandedIsLookedUpOutside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		reply := plays{"main": {call(`Write:{"file_path":"f","content":"one\n"}`), say("ok")}}.reply
		p := h.start(reply, func(p *process) {
			p.deps = func(d *session.Deps) { d.Tools = dying(false) }
		}).beginAs(troupe.Caps{}, func(b *fleet.Birth) {
			b.Cwd, b.Profile.Tools = dir, append(b.Profile.Tools, "Write")
		})
		pass(10 * time.Second)
		p.pool.Close()
		var open, asked, within atomic.Int32
		h.adopt(reply, false, func(p *process) {
			p.deps = func(d *session.Deps) {
				d.Store = counting{d.Store, &open}
				d.Tools = onDisk().Map(func(d tool.Descriptor) tool.Descriptor {
					if d.Class == troupe.ClassEdit {
						d.Runner = looked{d.Runner, func() { asked.Add(1); within.Add(open.Load()) }}
					}
					return d
				})
			}
		}).end()
		wants(t, h.result(h.root, 1, 0), "Changed f")
		if asked.Load() == 0 || within.Load() > 0 {
			t.Errorf("it was looked at %d times, in %d transactions", asked.Load(), within.Load())
		}
		h.checkTree()
	})
}

// counting knows how many transactions are open.
type counting struct {
	store.Store
	open *atomic.Int32
}

func (c counting) Update(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
	return c.Store.Update(ctx, root, func(tx store.Tx) error {
		c.open.Add(1)
		defer c.open.Add(-1)
		return fn(tx)
	})
}

// looked tells when it is prepared.
type looked struct {
	tool.Runner
	at func()
}

func (l looked) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	l.at()
	return l.Runner.Prepare(env, input)
}
