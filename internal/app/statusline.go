package app

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/hook"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool/shell"
	"github.com/troupe-dev/troupe/internal/wire"
)

// statusLines runs the status lines of this process. The files of a project that one names count as they were when it
// was first run, for an agent may have written them since; those of a trusted folder until a person trusts it anew.
type statusLines struct {
	mu     sync.Mutex
	shell  *shell.Shell // nil until one has run
	pinned map[string]pinnedLine
}

// pinnedLine is what the files of a status line were.
type pinnedLine struct {
	as    string // hash of what the folder that sets it was trusted as; "": no project sets it
	files map[string]string
}

// first is a status line as it was when it was first run in a folder, since the one that sets it was trusted as it is.
// A line of the person's own stays as it was, whatever is trusted: nothing that they are asked shows the files of it.
func (s *statusLines) first(h hook.Hook, folder, as string) (hook.Hook, *shell.Shell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shell == nil {
		s.shell, s.pinned = shell.New(shell.Options{}), map[string]pinnedLine{}
	}
	key := strings.Join([]string{folder, h.Source, h.Run}, "\x00")
	if was, ok := s.pinned[key]; ok && was.as == as {
		h.Files = was.files
	} else {
		s.pinned[key] = pinnedLine{as, h.Files}
	}
	return h, s.shell
}

func (s *statusLines) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shell == nil {
		return nil
	}
	return s.shell.Close()
}

// statusLines are those that are set in a folder, the weakest first: hooks of which the last one that counts is shown.
func (p *policy) statusLines(folder string) (out []setHook, padding int, problems []hook.Problem) {
	shown := -1
	for _, src := range p.all.StatusLines(p.trusted()) {
		from := hook.Origin{Source: src.Path, Scope: src.Scope.String(), Folder: src.Folder}
		found, odd := hook.ReadStatus(src.Raw, from)
		set := pin(found, folder, src.Off)
		for _, o := range odd {
			o.Text = src.Path + ": " + o.Text
			problems = append(problems, o)
		}
		if src.Off == "" && len(set) > 0 {
			if shown >= 0 {
				out[shown].off = "the status line of " + src.Path + " is shown"
			}
			shown, padding = len(out), hook.Padding(src.Raw)
		}
		out = append(out, set...)
	}
	return out, padding, problems
}

// StatusLine implements api.Setup. Settings are read each time: a line that was just written is shown at once. Those of
// the folder that the conversation is in count, wherever who asks stands: there the line runs.
func (a setup) StatusLine(ctx context.Context, q wire.StatusQuery) (out wire.StatusLine, err error) {
	var tree Tree
	if q.Root != "" {
		if tree, err = a.app.tree(ctx, q.Root); err != nil {
			return out, err
		}
		q.Cwd = tree.Sessions[0].Cwd
	}
	p, err := a.app.policyOf(q.Cwd)
	if err != nil {
		return out, err
	}
	set, padding, _ := p.statusLines(q.Cwd)
	lines := thatCount(set)
	if len(lines) == 0 {
		return out, nil
	}
	last := lines[len(lines)-1]
	h, sh := a.app.lines.first(last, q.Cwd, p.trust.Granted[last.Folder])
	m, err := a.statusMoment(ctx, q, p, tree)
	if err != nil {
		return out, err
	}
	environ, _ := config.Environment(a.app.env.Environ, a.app.settings)
	out.Command, out.Padding = a.app.Mask(h.Label()), padding
	text, err := a.app.newRunner(nil, sh, environ).Status(ctx, h, m, q.Columns)
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	if out.Text = text; err != nil {
		out.Failed = err.Error()
	}
	return out, nil
}

// statusMoment is what a status line is told: the members that public scripts read, as far as they mean something here.
// The tree has no sessions before the conversation begins.
func (a setup) statusMoment(ctx context.Context, q wire.StatusQuery, p *policy, tree Tree) (m troupe.HookMoment,
	err error) {
	s := troupe.Session{ID: "none", Type: profile.Main, Cwd: q.Cwd, Model: q.Model}
	var last *troupe.Replied
	if len(tree.Sessions) > 0 {
		s = tree.Sessions[0]
		if last, err = a.app.trees.lastReply(ctx, s); err != nil {
			return m, err
		}
	}
	project := s.Cwd
	if len(p.all.Folders) > 0 {
		project = p.all.Folders[0]
	}
	_, name, _ := strings.Cut(s.Model, "/")
	cost := map[string]any{"total_cost_usd": tree.Sum.Tally.Cost.Dollars(), "total_duration_ms": 0}
	if !s.CreatedAt.IsZero() {
		cost["total_duration_ms"] = max(0, tree.now(s.ID, a.app.env.Now()).Sub(s.CreatedAt).Milliseconds())
	}
	info, _ := a.app.models.info(s.Model)
	used := s.Tally.Usage
	window := map[string]any{"context_window_size": info.Window, "current_usage": nil, "used_percentage": nil,
		"remaining_percentage": nil, "total_input_tokens": used.Total() - used.Output,
		"total_output_tokens": used.Output}
	var now int64
	if last != nil {
		u := last.Usage
		now = u.Total() - u.Output
		window["current_usage"] = map[string]any{"input_tokens": u.Input, "output_tokens": u.Output,
			"cache_creation_input_tokens": u.CacheWrite, "cache_read_input_tokens": u.CacheRead}
		if info.Window > 0 {
			share := min(100, now*100/int64(info.Window))
			window["used_percentage"], window["remaining_percentage"] = share, 100-share
		}
	}
	const marked = 200_000 // tokens; scripts have a word of its own for it
	return troupe.HookMoment{Event: troupe.HookStatus, Session: s, Path: profile.Main, Mode: q.Mode,
		Fields: map[string]any{
			"model":     map[string]any{"id": name, "display_name": name},
			"workspace": map[string]any{"current_dir": s.Cwd, "project_dir": project, "added_dirs": []string{}},
			"version":   a.app.env.Version, "session_name": s.Name,
			"output_style": map[string]any{"name": cmp.Or(p.settings.Style, "default")},
			"cost":         cost, "context_window": window, "exceeds_200k_tokens": now > marked,
		}}, nil
}

// lastReply is the last reply of a session's model among its last events; nil if there is none.
func (a trees) lastReply(ctx context.Context, s troupe.Session) (out *troupe.Replied, err error) {
	const most = 200
	err = a.store.View(ctx, func(r store.Reader) error {
		events, err := r.Events(s.ID, max(0, s.Seq-most), most)
		for _, e := range events {
			if b, ok := e.Body.(troupe.Replied); ok {
				out = &b
			}
		}
		return err
	})
	if errors.Is(err, troupe.ErrNotFound) {
		return nil, nil
	}
	return out, err
}
