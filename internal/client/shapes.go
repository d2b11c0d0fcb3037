package client

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// trouble is an error as the API answers with it.
type trouble struct {
	Detail string `json:"detail"`
	Hint   string `json:"hint"`
	Code   int    `json:"code"`
	Kind   string `json:"kind"`
}

// value is the error that the use case returned over there.
func (t trouble) value() error {
	u := &troupe.UserError{Problem: t.Detail, Hint: t.Hint, Code: t.Code}
	switch t.Kind {
	case "not_found":
		u.Err = troupe.ErrNotFound
	case "exists":
		u.Err = troupe.ErrExists
	case "ambiguous":
		u.Err = troupe.ErrAmbiguous
	case "fenced":
		u.Err = troupe.ErrFenced
	case "newer":
		u.Err = troupe.ErrNewer
	case "limit":
		u.Err = troupe.ErrCap
	}
	return u
}

// refused turns an answer that is no success into an error.
func refused(resp *http.Response) error {
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return fmt.Errorf("read an answer of status %d: %w", resp.StatusCode, err)
	}
	var t trouble
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err == nil && kind == "application/problem+json" && json.Unmarshal(text, &t) == nil && t.Detail != "" {
		return t.value()
	}
	return &troupe.UserError{
		Problem: strings.TrimSpace(fmt.Sprintf("the process that runs the session answered %s: %.200s", resp.Status, text)),
		Hint:    "Is it another version of Troupe? `troupe version` tells yours.",
	}
}

// detail is one session as the API shows it.
type detail struct {
	ID       troupe.SessionID  `json:"id"`
	Root     troupe.SessionID  `json:"root"`
	Parent   troupe.SessionID  `json:"parent"`
	Coord    troupe.Coord      `json:"coord"`
	Name     string            `json:"name"`
	Title    string            `json:"title"`
	Depth    int               `json:"depth"`
	Cwd      string            `json:"cwd"`
	Type     string            `json:"type"`
	Model    string            `json:"model"`
	Status   troupe.Status     `json:"status"`
	Waiting  troupe.WaitReason `json:"waiting"`
	Cause    troupe.Cause      `json:"cause"`
	Run      int               `json:"run"`
	Seq      int64             `json:"seq"`
	Result   string            `json:"result"`
	Error    string            `json:"error"`
	Progress struct {
		Usage    troupe.Usage `json:"usage"`
		CostUSD  float64      `json:"cost_usd"`
		Turns    int          `json:"turns"`
		ToolUses int          `json:"tool_uses"`
	} `json:"progress"`
	Times struct {
		Created time.Time `json:"created"`
		Started time.Time `json:"started"`
		Ended   time.Time `json:"ended"`
		Until   time.Time `json:"until"`
	} `json:"times"`
}

// value is the session. What it has reserved is not told.
func (d detail) value() troupe.Session {
	p, t := d.Progress, d.Times
	return troupe.Session{
		ID: d.ID, Root: d.Root, Parent: d.Parent, Coord: d.Coord, Name: d.Name, Title: d.Title, Depth: d.Depth,
		Cwd: d.Cwd, Type: d.Type, Model: d.Model, Status: d.Status, Waiting: d.Waiting, Cause: d.Cause,
		Run: d.Run, Seq: d.Seq, Result: d.Result, Error: d.Error,
		Tally:     troupe.Tally{Usage: p.Usage, Cost: troupe.Dollars(p.CostUSD), Turns: p.Turns, ToolUses: p.ToolUses},
		CreatedAt: t.Created, StartedAt: t.Started, EndedAt: t.Ended, Until: t.Until,
	}
}
