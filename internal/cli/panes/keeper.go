package panes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// Member is one of a team, its lead apart.
type Member struct {
	ID    troupe.SessionID
	Label Label
	// Stopped: it was stopped, or has left, and has a pane only if a person wants one.
	Stopped bool
}

// Keeper has a pane be there for each member of a team, as far as there is room, and for none twice. A pane that a
// person closes stays closed until they have it shown again.
type Keeper struct {
	Said <-chan string // what a person should know

	said   chan string
	orders chan order
	look   chan struct{}
	ends   chan bool
	done   chan struct{}
	stop   context.CancelFunc
}

// order is what a person wants done.
type order struct {
	kind orderKind
	name string // of a member; "": all
}

type orderKind int

const (
	list orderKind = iota
	hide
	show
)

// Keep begins to keep panes for the members that roster tells of. detect is called once there are any.
func Keep(ctx context.Context, detect func(context.Context) Found,
	roster func(context.Context) ([]Member, error)) *Keeper {
	ctx, stop := context.WithCancel(ctx)
	k := &Keeper{said: make(chan string, 8), orders: make(chan order, 8), look: make(chan struct{}, 1),
		ends: make(chan bool, 1), done: make(chan struct{}), stop: stop}
	k.Said = k.said
	go func() {
		defer close(k.done)
		w := &watch{keeper: k, detect: detect, roster: roster, known: make(map[troupe.SessionID]*member)}
		w.run(ctx)
	}()
	return k
}

// Look has the keeper see who is in the team now.
func (k *Keeper) Look() {
	select {
	case k.look <- struct{}{}:
	default: // it is about to
	}
}

// Order has the keeper do what words say: hide or show, and of whom; without words it says who has a pane.
func (k *Keeper) Order(words string) error {
	verb, name, _ := strings.Cut(strings.TrimSpace(words), " ")
	o := order{name: strings.Trim(name, ` "'`)}
	switch verb {
	case "":
	case "hide":
		o.kind = hide
	case "show":
		o.kind = show
	default:
		return &troupe.UserError{Problem: "/panes takes hide or show, and the name of a member",
			Hint: "/panes alone says who has a pane."}
	}
	select {
	case k.orders <- o:
		return nil
	default:
		return &troupe.UserError{Problem: "panes are being moved, and do not answer", Hint: "Say it once more."}
	}
}

// Close ends the keeper and waits for it. With tidy set it asks the viewers to end too; else they stay.
func (k *Keeper) Close(tidy bool) {
	k.ends <- tidy
	if !tidy {
		k.stop()
	}
	<-k.done
	k.stop()
}

// member is one with what became of its pane.
type member struct {
	Member
	pane    ID // "": it has none
	had     bool
	labeled bool
	why     string // it has none
}

// watch is the goroutine of a keeper.
type watch struct {
	keeper  *Keeper
	detect  func(context.Context) Found
	roster  func(context.Context) ([]Member, error)
	found   *Found // nil: there was no team yet
	members []*member
	known   map[troupe.SessionID]*member
	told    string // the failure that was told
}

func (w *watch) run(ctx context.Context) {
	for {
		select {
		case tidy := <-w.keeper.ends:
			if tidy {
				w.leave(ctx)
			}
			return
		case <-w.keeper.look:
			w.fail(w.open(ctx))
		case o := <-w.keeper.orders:
			w.fail(w.order(ctx, o))
		}
	}
}

// say tells a person, unless they are leaving.
func (w *watch) say(format string, args ...any) {
	select {
	case w.keeper.said <- fmt.Sprintf(format, args...):
	default: // who does not read has enough to read
	}
}

// fail tells a failure, once as long as it is the same. The members go on, and are seen elsewhere.
func (w *watch) fail(err error) {
	if err == nil {
		w.told = ""
		return
	}
	if text := err.Error(); text != w.told && !errors.Is(err, context.Canceled) {
		w.told = text
		w.say("Panes: %s. The agents go on; /team lists them, /foreground NAME shows one.", text)
	}
}

// sync learns who is in the team, and which panes are there.
func (w *watch) sync(ctx context.Context) (err error) {
	members, err := w.roster(ctx)
	if err != nil || len(members) == 0 {
		return err
	}
	if w.found == nil {
		f := w.detect(ctx)
		if w.found = &f; f.Missing != "" {
			w.say("The members of the team have no panes: %s. /foreground NAME shows one, or troupe attach in another "+
				"terminal.", f.Missing)
		}
	}
	w.members = w.members[:0]
	for _, m := range members {
		x := w.known[m.ID]
		if x == nil {
			x = &member{}
			w.known[m.ID] = x
		}
		x.labeled = x.labeled && x.Label == m.Label
		x.Member = m
		w.members = append(w.members, x)
	}
	if w.found.Backend == nil {
		return nil
	}
	active, err := w.found.Backend.Active(ctx)
	if err != nil {
		return err
	}
	there := make(map[troupe.SessionID]ID, len(active))
	for _, p := range active {
		if _, twice := there[p.Agent]; !twice {
			there[p.Agent] = p.ID
		} else if err := w.found.Backend.Kill(ctx, p.ID); err != nil {
			return err
		}
	}
	for _, m := range w.members {
		m.has(there[m.ID])
	}
	return nil
}

// has notes whether a member has a pane now.
func (m *member) has(id ID) {
	switch {
	case id != "":
		m.had, m.why = true, ""
	case m.pane != "":
		m.why = "closed"
	}
	m.labeled = m.labeled && m.pane == id
	m.pane = id
}

// open gives a pane to each member that has had none.
func (w *watch) open(ctx context.Context) error {
	if err := w.sync(ctx); err != nil || w.found == nil || w.found.Backend == nil {
		return err
	}
	if t, ok := w.found.Backend.(interface{ fit(context.Context) error }); ok {
		if err := t.fit(ctx); err != nil {
			return err
		}
	}
	opened := 0
	var without []string
	for _, m := range w.members {
		if m.pane == "" && !m.had && m.why == "" && !m.Stopped {
			switch err := w.spawn(ctx, m); {
			case errors.Is(err, ErrFull):
				m.why = "no room"
				without = append(without, m.Label.Name)
			case err != nil:
				return err
			default:
				opened++
			}
		}
		if err := w.label(ctx, m); err != nil {
			return err
		}
	}
	if opened > 0 && w.found.How != "" {
		w.say("Members of the team are shown in tmux: %s", w.found.How)
		w.found.How = ""
	}
	if len(without) > 0 {
		w.say("No room for a pane: %s. /panes hide NAME makes some, /panes show NAME opens it; /foreground NAME shows "+
			"one here.", strings.Join(without, ", "))
	}
	return nil
}

func (w *watch) spawn(ctx context.Context, m *member) error {
	id, err := w.found.Backend.Spawn(ctx, m.ID)
	if id != "" {
		m.pane, m.had, m.why, m.labeled = id, true, "", false
	}
	return err
}

func (w *watch) label(ctx context.Context, m *member) error {
	if m.pane == "" || m.labeled {
		return nil
	}
	m.labeled = true
	return w.found.Backend.Send(ctx, m.pane, m.Label)
}

// order does what a person wants.
func (w *watch) order(ctx context.Context, o order) error {
	if err := w.sync(ctx); err != nil {
		return err
	}
	switch {
	case len(w.members) == 0:
		w.say("There is no team, whose members would have panes.")
		return nil
	case w.found.Backend == nil && w.found.Missing == "":
		w.say("Members have no panes (teammate_mode in-process): /team lists them, /foreground NAME shows one.")
		return nil
	case w.found.Backend == nil:
		w.say("Members have no panes: %s.", w.found.Missing)
		return nil
	case o.kind == list:
		w.tell()
		return nil
	}
	done := 0
	for _, m := range w.members {
		if o.name != "" && !strings.EqualFold(m.Label.Name, o.name) {
			continue
		}
		if err := w.put(ctx, m, o.kind); errors.Is(err, ErrFull) {
			m.why = "no room"
		} else if err != nil {
			return err
		}
		done++
	}
	if done == 0 {
		return &troupe.UserError{Problem: fmt.Sprintf("there is no member %q", o.name)}
	}
	w.tell()
	return nil
}

// put closes a member's pane, or opens one.
func (w *watch) put(ctx context.Context, m *member, kind orderKind) error {
	switch {
	case kind == hide && m.pane != "":
		if err := w.found.Backend.Kill(ctx, m.pane); err != nil {
			return err
		}
		m.pane, m.why = "", "hidden"
	case kind == hide:
		m.why = "hidden"
	case m.pane == "":
		if err := w.spawn(ctx, m); err != nil {
			return err
		}
		return w.label(ctx, m)
	}
	return nil
}

// tell says who has a pane.
func (w *watch) tell() {
	var shown, rest []string
	for _, m := range w.members {
		switch {
		case m.pane != "":
			shown = append(shown, m.Label.Name)
		case m.why == "" && m.Stopped:
			rest = append(rest, m.Label.Name+" (stopped)")
		default:
			rest = append(rest, fmt.Sprintf("%s (%s)", m.Label.Name, m.why))
		}
	}
	var rows []string
	if len(shown) > 0 {
		rows = append(rows, "In panes: "+strings.Join(shown, ", "))
	}
	if len(rest) > 0 {
		rows = append(rows, "Without: "+strings.Join(rest, ", "))
	}
	w.say("%s", strings.Join(rows, "\n"))
}

// How long viewers may take to end.
const (
	endTries = 10
	endPause = 50 * time.Millisecond
)

// leave asks the viewers to end. One on whose line words stand stays, and says by itself that nothing runs the tree.
func (w *watch) leave(ctx context.Context) {
	if w.found == nil || w.found.Backend == nil {
		return
	}
	active, err := w.found.Backend.Active(ctx)
	if err != nil {
		return
	}
	for _, p := range slices.Backward(active) {
		_ = w.found.Backend.Terminate(ctx, p.ID) // what is left says so itself
	}
	for range endTries {
		if active, err = w.found.Backend.Active(ctx); err != nil || len(active) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(endPause):
		}
	}
	if t, ok := w.found.Backend.(interface{ plain(context.Context) error }); ok {
		_ = t.plain(ctx) // the look of a border is worth no word to who leaves
	}
}
