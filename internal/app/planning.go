package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Plans lists the plans of a home, the last changed first. With a name it is that plan alone, with its text.
func (a requests) Plans(ctx context.Context, name string) ([]wire.Plan, error) {
	dir := plansOf(a.app).dir
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for plans: %w", err)
	}
	out := []wire.Plan{}
	err = a.app.trees.store.View(ctx, func(r store.Reader) error {
		out = out[:0]
		for _, e := range entries {
			slug, ok := strings.CutSuffix(e.Name(), planSuffix)
			info, err := e.Info()
			if !ok || err != nil || !info.Mode().IsRegular() || name != "" && !strings.HasPrefix(slug, name) {
				continue
			}
			p := wire.Plan{Name: slug, File: filepath.Join(dir, e.Name()), Changed: info.ModTime().UTC()}
			if err := stateOf(r, &p); err != nil {
				return err
			}
			out = append(out, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(x, y wire.Plan) int { return y.Changed.Compare(x.Changed) })
	if name == "" {
		return out, nil
	}
	if i := slices.IndexFunc(out, func(p wire.Plan) bool { return p.Name == name }); i >= 0 {
		out = out[i : i+1]
	}
	return a.withText(name, out)
}

func (a requests) withText(name string, found []wire.Plan) ([]wire.Plan, error) {
	if len(found) != 1 {
		problem, err := fmt.Sprintf("there is no plan %q", name), troupe.ErrNotFound
		if len(found) > 1 {
			problem, err = fmt.Sprintf("%d plans begin with %q", len(found), name), troupe.ErrAmbiguous
		}
		return nil, &troupe.UserError{Problem: problem, Hint: "`troupe plans` lists them.", Code: troupe.ExitUsage,
			Err: err}
	}
	text, err := plansOf(a.app).Read(found[0].File)
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "�")
	}
	found[0].Text = a.app.Mask(text)
	return found, nil
}

// stateOf finds the session of a plan, and what became of the plan. The requests say that: they are the record of what
// a person said.
func stateOf(r store.Reader, p *wire.Plan) error {
	s, err := sessionOfPlan(r, p.Name)
	if err != nil || s.ID == "" {
		return err
	}
	p.Session, p.Root, p.State = s.ID, s.Root, wire.PlanDraft
	rows, err := r.Requests(store.RequestFilter{Root: s.Root, IDPrefix: string(s.ID) + "."})
	if err != nil {
		return fmt.Errorf("look for what was said to the plan %s: %w", p.Name, err)
	}
	var last troupe.Request
	for _, q := range rows {
		if q.Kind == troupe.RequestPlan && q.Session == s.ID && !q.Opened.Before(last.Opened) {
			last = q
		}
	}
	switch {
	case last.ID == "":
	case last.Settled.IsZero():
		p.State, p.Request = wire.PlanWaits, string(last.ID)
	case last.Answer != nil && last.Answer.Effect == troupe.Allow:
		p.State, p.By = wire.PlanApproved, last.Answer.By
	case last.Answer != nil:
		p.State, p.By = wire.PlanRejected, last.Answer.By
	}
	return nil
}

// sessionOfPlan is whose plan it is by its name; empty if that session is gone.
func sessionOfPlan(r store.Reader, slug string) (troupe.Session, error) {
	if i := strings.LastIndexByte(slug, '-'); i >= 0 {
		s, err := r.Session(troupe.SessionID(slug[i+1:]))
		if err == nil || !errors.Is(err, troupe.ErrNotFound) {
			return s, err
		}
	}
	named, err := r.Sessions(store.Filter{Name: slug, RootsOnly: true, Newest: true, Limit: 1})
	if err != nil || len(named) == 0 {
		return troupe.Session{}, err
	}
	return named[0], nil
}
