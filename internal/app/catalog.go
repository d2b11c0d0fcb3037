package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/openai"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Models lists the models of every provider that is configured. Servers of one's own are
// asked what they have; nobody else is called.
func (a machine) Models(ctx context.Context, cwd string) (wire.ModelList, error) {
	out := wire.ModelList{Aliases: map[string]string{}, Models: []wire.ModelRow{}, Problems: []string{},
		Providers: []string{}}
	m := a.app.models
	var err error
	if out.Default, err = a.app.defaultModel("", cwd); err != nil {
		out.Problems = append(out.Problems, err.Error())
	}
	m.mu.Lock()
	c, err := m.load()
	m.mu.Unlock()
	if err != nil {
		return out, err
	}
	rows := make(map[string]wire.ModelRow)
	for _, full := range c.Models() {
		if name, _, _ := strings.Cut(full, "/"); m.configured(name) && !m.own(name) {
			rows[full] = m.row(full)
		}
	}
	out.Providers = m.askable()
	for _, name := range m.servers() {
		if key := m.keyOf(name); !slices.Contains(out.Providers, name) {
			out.Problems = append(out.Problems, fmt.Sprintf("the settings name the provider %s, and its key is "+
				"missing: set %s", name, key))
		}
	}
	for _, name := range out.Providers {
		if !m.own(name) {
			continue
		}
		served, err := m.served(ctx, name)
		if err != nil {
			out.Problems = append(out.Problems, err.Error())
		}
		for _, s := range served {
			row := m.row(name + "/" + s.ID)
			row.Served, row.Trained = true, s.Trained
			row.Window = cmp.Or(row.Window, s.Window)
			rows[row.Name] = row
		}
	}
	for _, alias := range c.Aliases() {
		if full, err := m.Resolve(alias, "", cwd); err == nil {
			if name, _, _ := strings.Cut(full, "/"); m.configured(name) {
				out.Aliases[alias] = full
			}
		}
	}
	for _, full := range slices.Sorted(maps.Keys(rows)) {
		out.Models = append(out.Models, rows[full])
	}
	return out, nil
}

func (m *models) row(full string) wire.ModelRow {
	i, _ := m.info(full)
	return wire.ModelRow{
		Name: full, Window: i.Window, MaxOutput: i.MaxOutput, Priced: i.Priced,
		Input: i.Price.Input.Dollars(), Output: i.Price.Output.Dollars(), CacheRead: i.Price.CacheRead.Dollars(),
	}
}

// own reports whether a provider is a server that the user named, as opposed to a public
// service: asking it costs nothing.
func (m *models) own(name string) bool {
	if s, known := serviceOf(name); known && s.openAI {
		return m.set(s.baseEnv)
	}
	return m.settings.Providers[name].BaseURL != ""
}

func (m *models) served(ctx context.Context, name string) ([]openai.Model, error) {
	p, _, err := m.Provider(name + "/any")
	if err != nil {
		return nil, err
	}
	o, ok := p.(*openai.Provider)
	if !ok {
		return nil, nil
	}
	list, err := o.Models(ctx)
	if err != nil {
		return nil, &troupe.UserError{Problem: "the models of " + name + " cannot be listed: " + err.Error(),
			Hint: m.unlisted(name, err), Err: err}
	}
	return list, nil
}

// askable are the providers that are configured, key and all.
func (m *models) askable() []string {
	names := append(serviceNames(), slices.Sorted(maps.Keys(m.settings.Providers))...)
	out := []string{}
	for _, name := range names {
		if m.configured(name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// unlisted says what to do about a server that does not list its models.
func (m *models) unlisted(name string, err error) string {
	var fault *model.Error
	key := m.keyOf(name)
	switch {
	case errors.As(err, &fault) && fault.Fault == troupe.FaultRetry:
		return "Is the server running?"
	case errors.As(err, &fault) && fault.Fault == troupe.FaultAuth && key != "":
		return "Is " + key + " right?"
	case errors.As(err, &fault) && fault.Fault == troupe.FaultAuth:
		if s, known := serviceOf(name); known {
			return "It wants a key; set " + s.keyEnv + "."
		}
		return "It wants a key; name its variable: \"key_env\" of providers." + name + " in the settings."
	}
	return "Not every server has such a list. It can be used all the same: troupe -p --model " + name + "/NAME"
}

// maxProbe bounds what a check of a window sends.
const maxProbe = 200_000

// checkWindow tests whether the window of a model is as large as it is believed to be. It
// sends about as many tokens as that, so it is for servers of one's own; a service with a
// price is left alone. ok is false if there was nothing to test.
func (a machine) checkWindow(ctx context.Context, full string) (c wire.WindowCheck, ok bool, err error) {
	name, id, _ := strings.Cut(full, "/")
	if !a.app.models.own(name) {
		return c, false, nil
	}
	p, _, err := a.app.models.Provider(full)
	if err != nil {
		return c, false, err
	}
	o, isOpenAI := p.(*openai.Provider)
	if !isOpenAI {
		return c, false, nil
	}
	i, _ := a.app.models.info(full)
	claimed := i.Window
	if claimed == 0 {
		list, err := o.Models(ctx)
		if err != nil {
			return c, false, err
		}
		for _, s := range list {
			if s.ID == id {
				claimed = cmp.Or(s.Window, s.Trained)
			}
		}
	}
	if claimed == 0 {
		return wire.WindowCheck{
			Model: full, Verdict: string(openai.WindowUnknown),
			Advice: "how large its window is, is not known; set providers." + name +
				".window in the settings, so that conversations are shortened in time",
		}, true, nil
	}
	r, err := o.Window(ctx, id, min(claimed, maxProbe))
	if err != nil {
		return c, false, errors.Join(errors.New("test the window of "+full), err)
	}
	c = wire.WindowCheck{Model: full, Claimed: r.Claimed, Verdict: string(r.Verdict), Read: r.Read, Real: r.Real,
		Advice: r.Advice}
	if r.Real > 0 {
		where := fmt.Sprintf("providers.%s.window to %d in %s", name, r.Real, a.app.dirs.Settings())
		if a.app.models.listed(full) { // that window counts
			where = fmt.Sprintf("the window of %s to %d in %s", id, r.Real, a.app.dirs.Models())
		}
		c.Advice += ", or set " + where + ", so that conversations are shortened in time"
	}
	return c, true, nil
}
