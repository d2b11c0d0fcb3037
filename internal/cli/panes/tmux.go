package panes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// tmux has panes in the window of the conversation, or in a session of its own. A pane says by options of its own which
// agent of which tree it shows, so that a later process finds it. Nothing but ids, numbers and words of ours is ever an
// argument of tmux: names of agents stand in what the viewers themselves say of their titles.
type tmux struct {
	call    call
	viewer  []string
	root    troupe.SessionID
	lead    ID     // the pane of the conversation; "": it runs outside of tmux
	session string // of its own then
	window  string // its size when it was last seen to
}

func newTmux(p Place, lead ID) *tmux {
	return &tmux{call: p.call(), viewer: p.Viewer, root: p.Root, lead: lead, session: "troupe-" + string(p.Root)}
}

// Options of a viewer's pane, and of the conversation's in a window whose border is ours.
const (
	optionRoot    = "@troupe_root"
	optionSession = "@troupe_session"
	optionColor   = "@troupe_color"
	optionLead    = "@troupe_lead"
)

const paneFormat = "#{pane_id} #{pane_left} #{pane_top} #{pane_width} #{pane_height} #{pane_dead} " +
	"#{window_zoomed_flag} #{window_width}x#{window_height} #{" + optionRoot + "} #{" + optionSession + "}"

// tmuxPane is a row of list-panes.
type tmuxPane struct {
	rect
	dead, zoomed bool
	window       string           // how large it is
	agent        troupe.SessionID // "": it is none of this tree
}

// list reads the panes that a target names.
func (t *tmux) list(ctx context.Context, target ...string) ([]tmuxPane, error) {
	out, err := t.call(ctx, "tmux", append(append([]string{"list-panes"}, target...), "-F", paneFormat)...)
	if err != nil {
		return nil, err
	}
	var panes []tmuxPane
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimRight(line, "\n"), " ")
		if len(f) != 10 {
			continue
		}
		p := tmuxPane{rect: rect{id: ID(f[0])}, dead: f[5] == "1", zoomed: f[6] == "1", window: f[7]}
		for i, to := range []*int{&p.left, &p.top, &p.width, &p.height} {
			*to, _ = strconv.Atoi(f[i+1]) // it prints numbers
		}
		if f[8] == string(t.root) {
			p.agent = troupe.SessionID(f[9])
		}
		panes = append(panes, p)
	}
	return panes, nil
}

// Active implements Backend. Panes that a person has moved to another window are there too.
func (t *tmux) Active(ctx context.Context) ([]Pane, error) {
	panes, err := t.list(ctx, "-a")
	if err != nil && t.lead == "" && !errors.Is(err, errSilent) {
		return nil, nil // no server runs outside of which this is
	}
	var out []Pane
	for _, p := range panes {
		if p.agent != "" && !p.dead {
			out = append(out, Pane{p.id, p.agent})
		}
	}
	return out, err
}

// Spawn implements Backend.
func (t *tmux) Spawn(ctx context.Context, agent troupe.SessionID) (ID, error) {
	var id ID
	var err error
	if t.lead == "" {
		id, err = t.apart(ctx, agent)
	} else {
		id, err = t.beside(ctx, agent)
	}
	if err != nil {
		return "", err
	}
	at := []string{"-p", "-t", string(id)}
	_, err = t.call(ctx, "tmux", chain(
		slices.Concat([]string{"set-option"}, at, []string{optionRoot, string(t.root)}),
		slices.Concat([]string{"set-option"}, at, []string{optionSession, string(agent)}))...)
	if err != nil {
		return id, err
	}
	// A viewer that fails leaves its pane with the reason, where tmux knows that (since 3.2).
	_, _ = t.call(ctx, "tmux", slices.Concat([]string{"set-option"}, at, []string{"remain-on-exit", "failed"})...)
	return id, t.even(ctx, id)
}

// chain has tmux carry out several commands.
func chain(commands ...[]string) (args []string) {
	for i, c := range commands {
		if i > 0 {
			args = append(args, ";")
		}
		args = append(args, c...)
	}
	return args
}

// beside splits the window of the conversation. The pane that has the keyboard keeps it.
func (t *tmux) beside(ctx context.Context, agent troupe.SessionID) (ID, error) {
	panes, err := t.list(ctx, "-t", string(t.lead))
	if err != nil {
		return "", err
	}
	var lead rect
	var others []rect
	args := []string{"split-window", "-d"}
	for _, p := range panes {
		switch {
		case p.id == t.lead:
			lead = p.rect
		case p.dead && p.agent == agent: // its viewer has failed
			if _, err := t.call(ctx, "tmux", "kill-pane", "-t", string(p.id)); err != nil {
				return "", err
			}
			return t.beside(ctx, agent)
		case p.agent != "":
			others = append(others, p.rect)
		}
		if p.zoomed && p.id == panes[0].id {
			args = append(args, "-Z")
		}
	}
	s, err := place(lead, others, false)
	if err != nil {
		return "", err
	}
	way := "-v"
	if s.beside {
		way = "-h"
	}
	args = append(args, way, "-t", string(s.from), "-l", strconv.Itoa(s.size), "-P", "-F", "#{pane_id}", "--")
	return t.opened(t.call(ctx, "tmux", append(args, t.words(agent)...)...))
}

// mostApart is how many panes a session of its own has: on a screen of usual size each shows a few lines then.
const mostApart = 6

// apart opens a pane in the session of its own, which it makes if need be.
func (t *tmux) apart(ctx context.Context, agent troupe.SessionID) (ID, error) {
	there, err := t.list(ctx, "-s", "-t", "="+t.session)
	var args []string
	switch {
	case errors.Is(err, errSilent):
		return "", err
	case err != nil:
		args = []string{"new-session", "-d", "-s", t.session, "-x", "200", "-y", "50"}
	case len(there) >= mostApart:
		return "", ErrFull
	default:
		args = []string{"split-window", "-d", "-t", string(there[len(there)-1].id)}
	}
	args = append(args, "-P", "-F", "#{pane_id}", "--")
	return t.opened(t.call(ctx, "tmux", append(args, t.words(agent)...)...))
}

// words are the viewer's command. tmux reads a semicolon at the end of an argument as its own.
func (t *tmux) words(agent troupe.SessionID) (out []string) {
	for _, w := range t.viewer {
		if rest, ok := strings.CutSuffix(w, ";"); ok {
			w = rest + `\;`
		}
		out = append(out, w)
	}
	return append(out, string(agent))
}

func (t *tmux) opened(out string, err error) (ID, error) {
	id := strings.TrimSpace(out)
	if err == nil && !strings.HasPrefix(id, "%") {
		err = fmt.Errorf("tmux opened a pane and does not say which: %q", id)
	}
	return ID(id), err
}

// even gives the panes of a column the same height, and the window a border with their titles. What else a person has
// in the window keeps its place.
func (t *tmux) even(ctx context.Context, at ID) error {
	if t.lead == "" {
		_, err := t.call(ctx, "tmux", chain([]string{"select-layout", "-t", string(at), "tiled"},
			t.border(at, "top"))...)
		return err
	}
	panes, err := t.list(ctx, "-t", string(t.lead))
	if err != nil {
		return err
	}
	column := slices.DeleteFunc(panes, func(p tmuxPane) bool { return p.agent == "" })
	slices.SortFunc(column, func(a, b tmuxPane) int { return a.top - b.top })
	rows := 0
	for _, p := range column {
		if p.left != column[0].left || p.zoomed {
			return nil // a person has them otherwise
		}
		rows += p.height
	}
	var commands [][]string
	for i, p := range column[:max(len(column)-1, 0)] {
		height := rows / (len(column) - i)
		rows -= height
		commands = append(commands, []string{"resize-pane", "-t", string(p.id), "-y", strconv.Itoa(height)})
	}
	how, err := t.call(ctx, "tmux", "show-options", "-Awv", "-t", string(t.lead), "pane-border-status")
	if err != nil {
		return err
	}
	if strings.TrimSpace(how) == "off" {
		commands = append(commands, t.border(t.lead, "top"))
	}
	if len(commands) == 0 {
		return nil
	}
	_, err = t.call(ctx, "tmux", chain(commands...)...)
	return err
}

// fit gives the conversation's pane what it needs when its window has become smaller. How a person divides a window of
// the same size is theirs.
func (t *tmux) fit(ctx context.Context) error {
	if t.lead == "" {
		return nil
	}
	panes, err := t.list(ctx, "-t", string(t.lead))
	if err != nil || len(panes) == 0 || panes[0].window == t.window {
		return err
	}
	t.window = panes[0].window
	lead := panes[slices.IndexFunc(panes, func(p tmuxPane) bool { return p.id == t.lead })]
	for _, p := range panes {
		to := []string{"resize-pane", "-t", string(t.lead)}
		switch {
		case p.agent == "" || p.zoomed:
			continue
		case p.left > lead.left && lead.width < leadColumns:
			to = append(to, "-x", strconv.Itoa(leadColumns))
		case p.left <= lead.left && p.top > lead.top && lead.height < leadRows:
			to = append(to, "-y", strconv.Itoa(leadRows))
		default:
			continue
		}
		_, err := t.call(ctx, "tmux", to...)
		return err
	}
	return nil
}

// border has the edge of each pane show its title, those of ours in their colors.
func (t *tmux) border(at ID, where string) []string {
	const format = "#{?" + optionColor + ",#[fg=#{" + optionColor + "}#,bold] #{pane_title} #[default]," +
		"#{?" + optionLead + ", lead , #{pane_title} }}"
	on := func(level string, args ...string) []string {
		return append([]string{"set-option", level, "-t", string(at)}, args...)
	}
	out := chain(on("-w", "pane-border-status", where), on("-w", "pane-border-format", format))
	if at == t.lead {
		out = chain(out, on("-p", optionLead, "1"))
	}
	return out
}

// plain takes the border away again that was made for panes of ours, once none is left.
func (t *tmux) plain(ctx context.Context) error {
	left, err := t.list(ctx, "-t", string(t.lead))
	if err != nil || t.lead == "" || slices.ContainsFunc(left, func(p tmuxPane) bool { return p.agent != "" }) {
		return err
	}
	made, err := t.call(ctx, "tmux", "show-options", "-qpv", "-t", string(t.lead), optionLead)
	if err != nil || strings.TrimSpace(made) == "" {
		return err
	}
	off := func(level, name string) []string { return []string{"set-option", level, "-t", string(t.lead), name} }
	_, err = t.call(ctx, "tmux", chain(off("-wu", "pane-border-status"), off("-wu", "pane-border-format"),
		off("-pu", optionLead))...)
	return err
}

// Send implements Backend. The name is what the viewer has for a title.
func (t *tmux) Send(ctx context.Context, id ID, l Label) error {
	color := l.Color - 30
	if l.Color >= 90 {
		color = l.Color - 90 + 8
	}
	_, err := t.call(ctx, "tmux", "set-option", "-p", "-t", string(id), optionColor, "colour"+strconv.Itoa(color))
	return err
}

// Terminate implements Backend.
func (t *tmux) Terminate(ctx context.Context, id ID) error {
	_, err := t.call(ctx, "tmux", "send-keys", "-t", string(id), "C-d")
	return err
}

// Kill implements Backend.
func (t *tmux) Kill(ctx context.Context, id ID) error {
	if _, err := t.call(ctx, "tmux", "kill-pane", "-t", string(id)); err != nil {
		return err
	}
	if t.lead == "" {
		return nil
	}
	return t.plain(ctx)
}
