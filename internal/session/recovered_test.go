package session_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/content"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/files"
)

// TestChangeThatLanded: a process that dies after a change and before its log has the result leaves a
// session that knows what the file holds: the next change of it works. Where something else changed the
// file, or the change did not happen, the session is told to look.
func TestChangeThatLanded(t *testing.T) {
	t.Parallel()
	const landed, open = "Changed f (1 lines added", "may or may not"
	edit := func(from, to string) string {
		return fmt.Sprintf(`Edit:{"file_path":"f","old_string":%q,"new_string":%q}`, from, to)
	}
	tests := map[string]struct {
		first, next string // calls
		dies        bool   // before it changes anything
		after       string // what something else makes of the file meanwhile; "" leaves it
		lost        bool   // what the file held was not kept
		result      string // of the first call
		want        string // what the file holds at the end
	}{
		"an edit": {first: edit("one", "two"), next: edit("two", "three"), result: landed, want: "three\n"},
		"a whole file": {first: `Write:{"file_path":"f","content":"two"}`, next: edit("two", "three"),
			result: landed, want: "three"},
		"not yet": {first: edit("one", "two"), next: edit("one", "three"), dies: true, result: open,
			want: "three\n"},
		"the same again": {first: `Write:{"file_path":"f","content":"one\n"}`, next: edit("one", "two"), result: open,
			want: "two\n"},
		"other hands": {first: edit("one", "two"), next: edit("two", "three"), after: "two\nmine\n", result: open,
			want: "two\nmine\n"},
		"not kept": {first: edit("one", "two"), next: edit("two", "three"), lost: true, result: open,
			want: "two\n"},
	}
	for name, tt := range tests {
		dir := t.TempDir()
		file := filepath.Join(dir, "f")
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			write("one\n")
			h, kept := newHome(t), content.In(filepath.Join(dir, "kept"))
			with := func(p *process) {
				p.deps = func(d *session.Deps) {
					d.Tools = dying(tt.dies)
					d.Keep = func(_ troupe.SessionID, b []byte) (string, error) {
						if tt.lost {
							return "", nil
						}
						return kept.Put(b)
					}
					d.Kept = func(_ troupe.SessionID, hash string) ([]byte, error) { return kept.Get(hash) }
				}
			}
			reply := plays{"main": {call(`Read:{"file_path":"f"}`), call(tt.first), call(tt.next), say("ok")}}.reply
			p := h.start(reply, with).beginAs(troupe.Caps{}, func(b *fleet.Birth) {
				b.Cwd, b.Profile.Tools = dir, append(b.Profile.Tools, "Write")
			})
			pass(10 * time.Second)
			p.pool.Close()
			if tt.after != "" {
				write(tt.after)
			}
			h.adopt(reply, false, func(p *process) {
				with(p)
				inner := p.deps
				p.deps = func(d *session.Deps) { inner(d); d.Tools = onDisk() }
			}).end()
			wants(t, h.result(h.root, 2, 0), tt.result)
			for _, e := range h.events(h.root) { // undo needs what the file held
				if b, ok := e.Body.(troupe.ToolFinished); ok && b.Result.Reply == 2 && tt.result == landed &&
					(len(b.Evidence.Files) != 1 || b.Evidence.Files[0].Before != tool.Hash([]byte("one\n"))) {
					t.Errorf("%s: the log has the change as %+v", name, b.Evidence.Files)
				}
			}
			got, err := os.ReadFile(file)
			if err != nil || string(got) != tt.want {
				t.Errorf("%s: the file holds %q, %v; the next change: %q", name, got, err, h.result(h.root, 3, 0))
			}
			h.checkTree()
		})
	}
}

// TestRecoveredIsCareful: what a tool finds out about a call that was cut off holds no secret, and a tool that
// panics over it takes no process with it: the session is told to look.
func TestRecoveredIsCareful(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after  tool.Set // of the process that goes on
		result string
	}{
		"a secret in a name": {onDisk(), "Changed key-***.txt"},
		"a panic":            {onDisk().Map(panicking), "may or may not"},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			reply := plays{"main": {call(`Write:{"file_path":"key-hunter2.txt","content":"one"}`), say("ok")}}.reply
			with := func(tools tool.Set) func(*process) {
				return func(p *process) {
					p.deps = func(d *session.Deps) {
						d.Tools = tools
						d.Mask = func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }
					}
				}
			}
			p := h.start(reply, with(dying(false))).beginAs(troupe.Caps{}, func(b *fleet.Birth) {
				b.Cwd, b.Profile.Tools = dir, append(b.Profile.Tools, "Write")
			})
			pass(10 * time.Second)
			p.pool.Close()
			h.adopt(reply, false, with(tt.after)).end()
			if got := h.result(h.root, 1, 0); !strings.Contains(got, tt.result) || strings.Contains(got, "hunter2") {
				t.Errorf("%s: the result is %q, want %q", name, got, tt.result)
			}
			h.checkTree()
		})
	}
}

// panicking is a tool that fails over whatever it is given.
func panicking(d tool.Descriptor) tool.Descriptor {
	if d.Class == troupe.ClassEdit {
		d.Runner = panics{d.Runner}
	}
	return d
}

type panics struct{ tool.Runner }

func (panics) Prepare(tool.Env, string) (tool.Prepared, error) { panic("an odd file") }

// onDisk is the real Read, Write and Edit.
func onDisk() tool.Set {
	return tool.NewSet(files.New(files.Options{})...)
}

// dying is onDisk with changes whose process dies before it can tell of them.
func dying(before bool) tool.Set {
	return onDisk().Map(func(d tool.Descriptor) tool.Descriptor {
		if d.Class == troupe.ClassEdit {
			d.Runner = dies{d.Runner, before}
		}
		return d
	})
}

type dies struct {
	tool.Runner
	before bool
}

func (d dies) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	p, err := d.Runner.Prepare(env, input)
	return dead{p, d.before}, err
}

type dead struct {
	tool.Prepared
	before bool
}

func (d dead) Absent() bool {
	l, ok := d.Prepared.(tool.Lander)
	return ok && l.Absent()
}

func (d dead) Landed(tool.Env) (tool.Output, bool) { return tool.Output{}, false }

func (d dead) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	if !d.before {
		if out, err := d.Prepared.Run(ctx, env); err != nil || out.IsError {
			return out, err
		}
	}
	<-ctx.Done()
	return tool.Output{}, ctx.Err()
}
