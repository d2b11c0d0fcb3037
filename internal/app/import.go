package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/carry"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/model/workflow"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// making is what an import is about to make outside of the database. It is written before any of that is there, so that
// whoever finds it beside no such session knows what to remove.
type making struct {
	Root     troupe.SessionID   `json:"root"`
	Sessions []troupe.SessionID `json:"sessions"`
	Owners   []troupe.SessionID `json:"owners"` // of folders of their own
	Plans    []string           `json:"plans"`
}

const makingName = "making.json"

// importing is an import on its way.
type importing struct {
	a       *App
	caller  troupe.Caller
	p       *policy
	o       wire.Import
	stage   *carry.Stage
	places  map[troupe.SessionID]troupe.Workspace // by the owners of folders of their own
	away    map[troupe.SessionID]worktree.Away
	logs    []*carry.Carried
	mail    []troupe.Mail
	dropped int // mail that answers, grants or stops
	making  making
	out     wire.Imported
}

// Import makes the tree of a file in this home, asleep. All of it is there then, or nothing.
func Import(ctx context.Context, a *App, caller troupe.Caller, from io.Reader, o wire.Import) (out wire.Imported,
	err error) {
	if o.Cwd, err = workspace.Resolve("/", o.Cwd); err != nil {
		return out, err
	}
	if err := checkName(o.Name); err != nil {
		return out, err
	}
	p, err := a.policyOf(o.Cwd)
	if err != nil {
		return out, err
	}
	// One after the other, so that what another has left is of one that was killed.
	ctx, release, err := worktree.Writing(ctx, a.keeper, a.dirs.Outputs())
	if err != nil {
		return out, err
	}
	defer release()
	if err := sweepImports(ctx, a); err != nil {
		return out, err
	}
	dir, err := importFolder(a)
	if err != nil {
		return out, err
	}
	x := importing{a: a, caller: caller, p: p, o: o, places: map[troupe.SessionID]troupe.Workspace{},
		away: map[troupe.SessionID]worktree.Away{}}
	defer func() {
		if cerr := sweepImport(context.WithoutCancel(ctx), a, dir); err == nil {
			err = cerr
		}
	}()
	if x.stage, err = carry.Read(from, dir); err != nil {
		return out, err
	}
	for _, step := range []func(context.Context) error{x.isNew, x.readFolders, x.rebuild, x.free} {
		if err := step(ctx); err != nil {
			return out, err
		}
	}
	data, err := json.Marshal(x.making)
	if err == nil {
		err = disk.Replace(filepath.Join(dir, makingName), data, 0o600)
	}
	for _, step := range []func(context.Context) error{x.lay, x.commit} {
		if err == nil {
			err = step(ctx)
		}
	}
	return x.out, err
}

// isNew refuses what this home has already.
func (x *importing) isNew(ctx context.Context) error {
	m := &x.stage.Manifest
	name := cmp.Or(x.o.Name, m.Name)
	if err := checkName(name); err != nil {
		return err
	}
	x.making.Root, x.making.Sessions = m.Root, m.Sessions
	return x.a.trees.store.View(ctx, func(r store.Reader) error {
		for _, id := range m.Sessions {
			s, err := r.Session(id)
			if isNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
			what := fmt.Sprintf("session %s", cmp.Or(s.Name, string(s.ID)))
			return &troupe.UserError{Problem: what + " is in this home already: it has the id " + string(id),
				Hint: fmt.Sprintf("Go on with that one: troupe --resume %s, or troupe wake %s if it is asleep. To "+
					"have "+
					"the one of the file in its place, first: troupe rm %s", s.Root, s.Root, s.Root),
				Code: troupe.ExitUsage, Err: troupe.ErrExists}
		}
		if name == "" {
			return nil
		}
		if s, err := r.Session(troupe.SessionID(name[strings.LastIndexByte(name, '-')+1:])); err == nil {
			return &troupe.UserError{Problem: fmt.Sprintf("the name %q ends as the plan of session %s does", name,
				s.ID),
				Hint: "Give this one another name: --name NAME", Code: troupe.ExitUsage}
		}
		named, err := r.Sessions(store.Filter{Name: name, RootsOnly: true, Limit: 1})
		if err == nil && len(named) > 0 {
			err = &troupe.UserError{Problem: fmt.Sprintf("there is a session named %q already (%s)", name, named[0].ID),
				Hint: "Give this one another name: --name NAME", Code: troupe.ExitUsage, Err: troupe.ErrExists}
		}
		return err
	})
}

// unusable is the refusal of a file for what a part of it says.
func unusable(part string, err error) error {
	var user *troupe.UserError
	if errors.As(err, &user) {
		return err
	}
	return &troupe.UserError{Problem: fmt.Sprintf("the file cannot be imported: %s: %v", part, err),
		Hint: "Nothing was changed.", Code: troupe.ExitUsage, Err: err}
}

// readFolders reads what the file says of folders of agents' own.
func (x *importing) readFolders(context.Context) error {
	for base, name := range x.stage.Below(carry.Folders) {
		id, ok := strings.CutSuffix(base, ".json")
		if !ok {
			continue
		}
		f, err := x.stage.Open(name)
		if err != nil {
			return err
		}
		var away worktree.Away
		err = errors.Join(json.NewDecoder(io.LimitReader(f, 64<<20)).Decode(&away), f.Close())
		if err == nil && string(away.Workspace.Owner) != id {
			err = errors.New("it is of another session")
		}
		if err != nil {
			return unusable(name, err)
		}
		x.away[away.Workspace.Owner] = away
	}
	return nil
}

// place is where a session works here that had a folder of its own there.
func (x *importing) place(was troupe.Workspace) (troupe.Workspace, error) {
	m := &x.stage.Manifest
	known := slices.Contains(m.Sessions, was.Owner)
	if was.Main != "" && (was.Main != m.Root || known) || was.Main == "" && !known {
		return was, fmt.Errorf("a folder is %.20q's, which the file does not have", was.Owner)
	}
	if ws, ok := x.places[was.Owner]; ok {
		return ws, nil
	}
	if !was.Kind.Made() && was.Kind != troupe.WorkspaceReadOnly {
		return was, fmt.Errorf("there is no folder of the kind %.40q", was.Kind)
	}
	ws, err := worktree.Settle(x.a.keeper, was, x.o.Cwd)
	if err == nil && ws.Kind.Made() {
		x.making.Owners = append(x.making.Owners, ws.Owner)
		if ws.Name != was.Name {
			x.note("its worktree %s is %s here: that name is taken", was.Name, ws.Name)
		}
	}
	x.places[was.Owner] = ws
	return ws, err
}

// model is the one that an agent has here.
func (x *importing) model(full string) (string, error) {
	provider, _, _ := strings.Cut(workflow.Under(full), "/")
	if x.o.Model == "" && provider != "script" && x.a.models.configured(provider) {
		return full, nil
	}
	own, err := x.a.models.Default(x.o.Model, x.p.settings.Model, x.o.Cwd)
	return workflow.Moved(full, own), err
}

// rebuild makes the logs anew.
func (x *importing) rebuild(ctx context.Context) error {
	limits := x.p.settings.Agents.Limits()
	limits.MaxTurns = defaultChildTurns
	if most := x.p.settings.Agents.EachTurns; most > 0 {
		limits.MaxTurns = min(limits.MaxTurns, most)
	}
	tree := carry.NewTree(x.stage.Manifest, carry.Here{Now: x.a.env.Now(), Caller: x.caller, Folder: x.o.Cwd,
		Name: x.o.Name, Source: "another home", DenySource: sourceDeny, Model: x.model, Caps: x.p.settings.Caps(),
		Limits: limits, Output: x.output, Plan: plansOf(x.a).File,
		Place: x.place})
	x.out = wire.Imported{Session: x.stage.Root, Cwd: x.o.Cwd, From: x.stage.Folder}
	for _, id := range x.stage.Sessions {
		lines, err := x.stage.Log(id)
		if err != nil {
			return err
		}
		c, err := tree.Session(id, lines)
		if err != nil {
			return err
		}
		x.logs = append(x.logs, c)
		x.tell(c)
	}
	if err := x.checkCaps(); err != nil {
		return err
	}
	x.out.Name = x.logs[0].State.Session.Name
	waiting, err := x.stage.Waiting()
	if err != nil {
		return err
	}
	for _, line := range waiting {
		m, err := tree.Unread(line)
		if err != nil {
			return err
		}
		if m == nil {
			x.dropped++
			continue
		}
		x.mail = append(x.mail, *m)
	}
	if x.dropped > 0 {
		x.note("waiting mail that answers, allows or stops was dropped: %d", x.dropped)
	}
	return ctx.Err()
}

// checkCaps refuses more agents that would go on than may be here, and says how many there are.
func (x *importing) checkCaps() error {
	live, caps := 0, x.p.settings.Caps()
	for _, c := range x.logs[1:] {
		if c.State.Session.Status.Live() {
			live++
		}
	}
	if caps.MaxTotal > 0 && live > caps.MaxTotal {
		return &troupe.UserError{Code: troupe.ExitUsage,
			Problem: fmt.Sprintf("%d agents of the file would go on when it is woken, and agents.max_total is %d here",
				live,
				caps.MaxTotal), Hint: "Nothing was changed. Raise agents.max_total in the settings, if you want them " +
				"all."}
	}
	if live > 0 {
		x.note("agents that go on when it is woken: %d", live)
	}
	return nil
}

func (x *importing) note(format string, args ...any) {
	x.out.Notes = append(x.out.Notes, fmt.Sprintf(format, args...))
}

// tell notes what of a session is not as it was.
func (x *importing) tell(c *carry.Carried) {
	s := c.State.Session
	name := displayName(s)
	if s.Model != c.Was.Model {
		x.note("%s: its model is %s; it was %s", name, s.Model, c.Was.Model)
	}
	for _, call := range c.Ended {
		x.note("%s: a call of %s had no result; it may have taken effect there", name, call)
	}
	if c.Memory {
		x.note("%s: its memory stays there", name)
	}
	if c.Granted > 0 || c.Mode != "" && c.Mode != troupe.ModeDefault && c.State.Authority.Mode != c.Mode {
		rules := ""
		if c.Granted > 0 {
			rules = fmt.Sprintf("rules: %d, ", c.Granted)
		}
		x.note("%s: what was allowed there does not hold here (%smode %s)", name, rules,
			cmp.Or(c.Mode, troupe.ModeDefault))
	}
}

// output is where a file of outputs is here.
func (x *importing) output(there string) string {
	dir, file := path.Split(path.Clean(filepath.ToSlash(there)))
	id, ok := troupe.ParseSessionID(path.Base(dir))
	if !ok || !x.stage.Has(carry.Outputs+string(id)+"/"+file) {
		return ""
	}
	return filepath.Join(x.a.outputDir(id), file)
}

// free demands that nothing is where something is to be made.
func (x *importing) free(context.Context) error {
	for _, c := range x.logs {
		s := c.State.Session
		comes := x.stage.Has(carry.PlanPart(s.ID))
		if !comes && c.State.Authority.Planning == nil {
			continue
		}
		file := plansOf(x.a).File(s)
		if _, err := os.Lstat(file); err == nil {
			return &troupe.UserError{Problem: file + " is there already, and is the plan of another session",
				Hint: "Give this one another name: --name NAME", Code: troupe.ExitUsage}
		}
		if comes {
			x.making.Plans = append(x.making.Plans, file)
		}
	}
	// What is left of sessions that are gone has no owner.
	for _, id := range x.stage.Sessions {
		if err := disk.RemoveTree(x.a.outputDir(id)); err != nil {
			return err
		}
	}
	return scratchpadsOf(x.a).remove(x.stage.Root)
}

// lay puts files and the objects of folders in their places.
func (x *importing) lay(ctx context.Context) error {
	for _, c := range x.logs {
		s := c.State.Session
		if err := x.files(x.a.outputDir(s.ID), x.stage.Below(carry.Outputs+string(s.ID)+"/")); err != nil {
			return err
		}
		if x.stage.Has(carry.PlanPart(s.ID)) {
			file := plansOf(x.a).File(s)
			dir, name := filepath.Split(file)
			if err := x.files(filepath.Clean(dir), map[string]string{name: carry.PlanPart(s.ID)}); err != nil {
				return err
			}
		}
	}
	if pads := x.stage.Below(carry.Pads); len(pads) > 0 {
		if err := scratchpadsOf(x.a).Make(x.stage.Root); err != nil {
			return err
		}
		if err := x.files(scratchpadsOf(x.a).Folder(x.stage.Root), pads); err != nil {
			return err
		}
	}
	for id, away := range x.away {
		pack, err := x.stage.Open(carry.Folders + string(id) + ".pack")
		if err != nil {
			return err
		}
		err = errors.Join(worktree.Unpack(ctx, x.a.keeper, x.places[id], away, pack), pack.Close())
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return unusable(carry.Folders+string(id)+".pack", err)
		}
	}
	return ctx.Err()
}

// files copies parts into a folder, where nothing of these names is. No link on the way leads out of it.
func (x *importing) files(dir string, parts map[string]string) error {
	if len(parts) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	for name, part := range parts {
		from, oerr := x.stage.Open(part)
		if oerr != nil {
			return errors.Join(oerr, root.Close())
		}
		err = errors.Join(err, put(root, filepath.FromSlash(name), from), from.Close())
	}
	return errors.Join(err, root.Close())
}

func put(root *os.Root, name string, from io.Reader) error {
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Sync(), f.Close())
}

// sincePrompt is how many agents were born since the last words of a person.
func (x *importing) sincePrompt() (n int) {
	var last time.Time
	for _, c := range x.logs {
		for _, e := range c.Events {
			b, ok := e.Body.(troupe.MailDelivered)
			if ok && slices.ContainsFunc(b.Mail, troupe.Mail.PersonsPrompt) && e.At.After(last) {
				last = e.At
			}
		}
	}
	for _, c := range x.logs[1:] {
		if c.State.Session.CreatedAt.After(last) {
			n++
		}
	}
	return n
}

// commit writes the tree, asleep, and held by no process.
func (x *importing) commit(ctx context.Context) error {
	id, err := troupe.NewRootID(rand.Reader)
	if err != nil {
		return err
	}
	lease := troupe.Lease{Owner: troupe.OwnerID(id), Epoch: 1}
	root, now := x.stage.Root, x.a.env.Now()
	return x.a.trees.store.Update(ctx, root, func(tx store.Tx) error {
		since := x.sincePrompt()
		d := troupe.TreeDelta{Prompted: true, Total: since}
		for _, c := range x.logs {
			s := c.State.Session
			caps := x.p.settings.Caps()
			born := s
			born.Seq = 0
			if err := tx.Insert(born, lease, &caps); err != nil {
				return fmt.Errorf("write session %s: %w", s.ID, err)
			}
			if err := tx.Append(lease, s, c.Events); err != nil {
				return fmt.Errorf("write the log of session %s: %w", s.ID, err)
			}
			if s.Active() {
				d.Active++
			}
			d.Tally = d.Tally.Add(s.Tally)
			notice := troupe.Mail{ID: troupe.MailID("imported:" + x.stage.Sum), Root: root, To: s.ID,
				Kind: troupe.MailNotice, SentAt: now, Caller: &x.caller,
				Blocks: []troupe.Block{troupe.Text(x.notice(s))}}
			if _, err := tx.Send(notice); err != nil {
				return err
			}
		}
		for _, m := range x.mail {
			if _, err := tx.Send(m); err != nil {
				return err
			}
		}
		return errors.Join(tx.AddTree(root, troupe.TreeDelta{Total: len(x.logs) - 1 - since}), tx.AddTree(root, d))
	})
}

// notice is what each agent is told before its next reply.
func (x *importing) notice(s troupe.Session) string {
	text := fmt.Sprintf("This session was carried here from another home, where it worked in %s. It works in %s now. "+
		"Paths in what was said before belong to the other machine; files here may be others, so read them before you "+
		"change them. What was running there has ended. What was allowed there is not allowed here.",
		quotePath(x.stage.Folder), quotePath(x.o.Cwd))
	if s.Workspace.Kind.Made() {
		text += fmt.Sprintf(" Your own folder is %s now.", quotePath(s.Workspace.Folder))
	}
	return text
}

// sweepLeft is sweepImports by a process that has other things to do.
func sweepLeft(ctx context.Context, a *App) {
	if left, err := os.ReadDir(filepath.Join(a.dirs.Data, "carried")); err != nil || len(left) == 0 {
		return
	}
	ctx, release, err := worktree.Writing(ctx, a.keeper, a.dirs.Outputs())
	if err == nil {
		err = sweepImports(ctx, a)
		release()
	}
	if err != nil {
		a.env.Log.Warn("remove what a killed import has left", "err", err)
	}
}

// sweepImports removes what killed imports and exports have left.
func sweepImports(ctx context.Context, a *App) error {
	all := filepath.Join(a.dirs.Data, "carried")
	entries, err := os.ReadDir(all)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		err = errors.Join(err, sweepImport(ctx, a, filepath.Join(all, e.Name())))
	}
	return err
}

// sweepImport ends an import: of one whose session is not there nothing stays.
func sweepImport(ctx context.Context, a *App, dir string) error {
	var m making
	data, err := disk.Read(filepath.Join(dir, makingName), disk.Most)
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return disk.RemoveTree(dir)
	}
	if err != nil {
		return err
	}
	switch _, err := a.trees.session(ctx, m.Root); {
	case err == nil:
		return disk.RemoveTree(dir)
	case !isNotFound(err):
		return err // what to remove is not forgotten
	}
	errs := []error{a.removeOutputs(m.Sessions), scratchpadsOf(a).remove(m.Root)}
	for _, owner := range m.Owners {
		errs = append(errs, worktree.Forget(a.keeper, owner))
	}
	for _, file := range m.Plans {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return disk.RemoveTree(dir)
}
