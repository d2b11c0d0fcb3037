package cmd

import (
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app"
)

// What --json prints. Once released, fields are only ever added.
type (
	turnsView struct {
		Session troupe.SessionID `json:"session_id"`
		Turns   []turnView       `json:"turns"`
	}

	turnView struct {
		Turn     int           `json:"turn"`
		At       time.Time     `json:"at"`
		Asked    string        `json:"asked,omitempty"`
		Undone   bool          `json:"undone"`
		Files    []changeView  `json:"files"`
		Commands []commandView `json:"commands"`
	}

	changeView struct {
		Path    string   `json:"path"`
		Agents  []string `json:"agents"`
		Writes  int      `json:"writes"`
		New     bool     `json:"new"`
		Added   int      `json:"added"`
		Removed int      `json:"removed"`
	}

	commandView struct {
		Turn     int              `json:"turn"`
		Agent    string           `json:"agent"`
		Tool     string           `json:"tool"`
		Text     string           `json:"text"`
		State    app.CommandState `json:"state"`
		ExitCode *int             `json:"exit_code,omitempty"` // of one that ended
	}

	undoView struct {
		Type     string           `json:"type"` // undo or redo
		Session  troupe.SessionID `json:"session_id"`
		Turn     int              `json:"turn,omitempty"`
		Applied  bool             `json:"applied"`
		Files    []fileView       `json:"files"`
		Left     []fileView       `json:"left"` // not put back: an undo that was applied
		Same     []string         `json:"same"` // as before already
		Commands []commandView    `json:"commands"`
		TakeBack string           `json:"take_back,omitempty"`
	}

	fileView struct {
		Path     string       `json:"path"`
		Action   string       `json:"action"` // restore, create or remove
		Obstacle app.Obstacle `json:"obstacle,omitempty"`
		Problem  string       `json:"problem,omitempty"`
		Mixed    bool         `json:"mixed,omitempty"`
		Added    int          `json:"added"`
		Removed  int          `json:"removed"`
	}
)

func viewTurns(s troupe.Session, turns []app.Turn) turnsView {
	out := turnsView{Session: s.ID, Turns: make([]turnView, 0, len(turns))}
	for _, t := range turns {
		v := turnView{Turn: t.Number, At: t.At.UTC(), Asked: t.Asked, Undone: t.Undone, Files: make([]changeView, 0, len(t.Files)), Commands: viewCommands(t.Commands)}
		for _, f := range t.Files {
			v.Files = append(v.Files, changeView{f.Path, f.Agents, f.Writes, f.New, f.Added, f.Removed})
		}
		out.Turns = append(out.Turns, v)
	}
	return out
}

func viewCommands(list []app.Command) []commandView {
	out := make([]commandView, 0, len(list))
	for _, c := range list {
		v := commandView{Turn: c.Turn, Agent: c.Agent, Tool: c.Tool, Text: c.Text, State: c.State}
		if c.State == app.CommandEnded {
			v.ExitCode = &c.ExitCode
		}
		out = append(out, v)
	}
	return out
}

func viewFiles(list []app.UndoFile) []fileView {
	out := make([]fileView, 0, len(list))
	for _, f := range list {
		v := fileView{Path: f.Path, Action: "restore", Obstacle: f.Obstacle, Problem: f.Problem, Mixed: f.Mixed, Added: f.Added, Removed: f.Removed}
		switch {
		case f.To == "" && f.Obstacle != app.ObstacleLost:
			v.Action = "remove"
		case f.Now == "":
			v.Action = "create"
		}
		out = append(out, v)
	}
	return out
}

func viewPlan(u app.Undo) undoView {
	v := undoView{Type: "undo", Session: u.Root, Turn: u.Turn, Files: viewFiles(u.Files), Left: []fileView{}, Same: u.Same, Commands: viewCommands(u.Commands)}
	if u.Redo > 0 {
		v.Type = "redo"
	}
	if v.Same == nil {
		v.Same = []string{}
	}
	return v
}

func viewReport(r app.UndoReport) undoView {
	v := viewPlan(r.Undo)
	v.Applied, v.Left, v.TakeBack = true, viewFiles(r.Left), r.TakeBack
	return v
}
