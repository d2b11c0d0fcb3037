package panes

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
)

// iterm has panes in the tab of the conversation, by the program it2. What its pane shows, a variable of the pane says.
type iterm struct {
	call   call
	viewer []string
	root   troupe.SessionID
	lead   ID
	known  map[ID]string // what the variable of each said
}

func newITerm(p Place, lead ID) *iterm {
	return &iterm{call: p.call(), viewer: p.Viewer, root: p.Root, lead: lead, known: make(map[ID]string)}
}

// variable is a pane's, and holds the root and the agent.
const variable = "user.troupe"

// itermPane is an element of what `it2 session list --json` prints.
type itermPane struct {
	ID   ID  `json:"id"`
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

func (t *iterm) it2(ctx context.Context, args ...string) (string, error) {
	return t.call(ctx, "it2", append([]string{"session"}, args...)...)
}

func (t *iterm) list(ctx context.Context) (panes []itermPane, err error) {
	out, err := t.it2(ctx, "list", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &panes)
	}
	if err != nil {
		return nil, fmt.Errorf("list the panes of iTerm2: %w", err)
	}
	return panes, nil
}

// agent is whom a pane shows; "" if it is none of this tree's.
func (t *iterm) agent(ctx context.Context, id ID) (troupe.SessionID, error) {
	said, ok := t.known[id]
	if !ok {
		out, err := t.it2(ctx, "get-var", variable, "-s", string(id))
		if err != nil {
			return "", err
		}
		said = strings.TrimSpace(out)
		t.known[id] = said
	}
	root, agent, ok := strings.Cut(said, "/")
	if !ok || root != string(t.root) {
		return "", nil
	}
	return troupe.SessionID(agent), nil
}

// Active implements Backend.
func (t *iterm) Active(ctx context.Context) (out []Pane, err error) {
	panes, err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range panes {
		agent, err := t.agent(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		if agent != "" {
			out = append(out, Pane{p.ID, agent})
		}
	}
	return out, nil
}

// Spawn implements Backend. A new pane has a shell, which becomes the viewer.
func (t *iterm) Spawn(ctx context.Context, agent troupe.SessionID) (ID, error) {
	panes, err := t.list(ctx)
	if err != nil {
		return "", err
	}
	var lead rect
	var others []rect
	for _, p := range panes {
		r := rect{id: p.ID, width: p.Cols, height: p.Rows}
		if p.ID == t.lead {
			lead = r
			continue
		}
		if of, err := t.agent(ctx, p.ID); err != nil {
			return "", err
		} else if of != "" {
			r.left = 1 // where they stand is not told
			others = append(others, r)
		}
	}
	s, err := place(lead, others, true)
	if err != nil {
		return "", err
	}
	args := []string{"split", "-s", string(s.from)}
	if s.beside {
		args = append(args, "-v")
	}
	out, err := t.it2(ctx, args...)
	if err != nil {
		return "", err
	}
	_, name, ok := strings.Cut(out, "Created new pane: ")
	id := ID(strings.TrimSpace(name))
	if !ok || id == "" {
		return "", fmt.Errorf("it2 opened a pane and does not say which: %q", strings.TrimSpace(out))
	}
	t.known[id] = string(t.root) + "/" + string(agent)
	if _, err := t.it2(ctx, "set-var", variable, t.known[id], "-s", string(id)); err != nil {
		return id, err
	}
	_, err = t.it2(ctx, "run", "exec "+quoted(append(t.viewer[:len(t.viewer):len(t.viewer)], string(agent))), "-s",
		string(id))
	return id, err
}

// quoted writes a command so that any shell of POSIX reads just these words.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(out, " ")
}

// Send implements Backend.
func (t *iterm) Send(ctx context.Context, id ID, l Label) error {
	_, err := t.it2(ctx, "set-name", "-s", string(id), "--", l.Name)
	return err
}

// Terminate implements Backend.
func (t *iterm) Terminate(ctx context.Context, id ID) error {
	_, err := t.it2(ctx, "send", "-s", string(id), "\x04")
	return err
}

// Kill implements Backend.
func (t *iterm) Kill(ctx context.Context, id ID) error {
	_, err := t.it2(ctx, "close", "-f", "-s", string(id))
	return err
}
