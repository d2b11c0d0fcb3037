package httpd

import (
	"context"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Server is the server as far as it is about what the caller may see: a database may be that of several servers, and
// the owner of the home has sessions and schedules of their own.
func (b bounded) Server() api.Server { return boundedServer{b.see.all.Server(), b} }

type boundedServer struct {
	api.Server

	b bounded
}

func (s boundedServer) People() api.People { return boundedPeople{s.Server.People(), s.b} }

// boundedPeople tell a caller of their own projects.
type boundedPeople struct {
	api.People

	b bounded
}

// Me is the caller, with their own right at the server and the folders in which they may look.
func (p boundedPeople) Me(ctx context.Context) (wire.Me, error) {
	me, err := p.People.Me(ctx)
	me.Right, me.Projects = p.b.see.c.Right, p.b.see.c.Projects
	if p.b.see.inProject() {
		me.Folders = groundOf(p.b.see.in, p.b.see.c, troupe.RightViewer).in
	}
	return me, err
}

func (s boundedServer) Hosting() api.Hosting { return boundedHosting{s.Server.Hosting(), s.b} }

type boundedHosting struct {
	api.Hosting

	b bounded
}

// Hosted tells of sessions and folders that the caller sees. Which processes there are is told to those with a right at
// the server, and to its admins what is known of no folder, such as a session that is just being born.
func (h boundedHosting) Hosted(ctx context.Context) (wire.Hosted, error) {
	out, err := h.Hosting.Hosted(ctx)
	see, ground := h.b.see, groundOf(h.b.see.in, h.b.see.c, troupe.RightViewer)
	out.Sessions = slices.DeleteFunc(out.Sessions, func(k wire.KeptGoing) bool {
		return !see.has(k.Cwd) && (k.Cwd != "" || !see.c.Right.Covers(troupe.RightAdmin))
	})
	for i := range out.Sessions {
		if k := &out.Sessions[i]; k.Cwd == "" {
			k.Title = ""
		}
	}
	out.Paused = slices.DeleteFunc(out.Paused, func(p wire.Paused) bool {
		return !see.has(p.Folder) &&
			!slices.ContainsFunc(ground.in, func(in string) bool { return troupe.Within(in, p.Folder) })
	})
	if see.inProject() {
		out.Partial, out.Workers = true, []wire.Worker{}
		for i := range out.Sessions {
			out.Sessions[i].Worker = ""
		}
	}
	for i := range out.Workers {
		w := &out.Workers[i]
		w.Folders = slices.DeleteFunc(w.Folders, func(f string) bool { return !see.has(f) })
	}
	return out, err
}

// planned is what begins in a folder, as an act of its user.
type planned interface{ wire.Schedule | wire.Webhook }

// folderOfPlan is where a plan begins what it does; known is false of one that cannot be read.
func folderOfPlan(x any) (folder string, known bool) {
	switch x := x.(type) {
	case wire.Schedule:
		return x.Begin.Cwd, x.Broken == ""
	case wire.Webhook:
		return x.Begin.Cwd, x.Begin.Cwd != ""
	}
	return "", false
}

// showsPlan reports whether a caller sees a plan: one that cannot be read, if they have the right at the server.
func (s sight) showsPlan(x any) bool {
	folder, known := folderOfPlan(x)
	return s.has(folder) || !known && !s.inProject()
}

// plan is one that the caller sees, and the api for what is in its folder.
func plan[T planned](ctx context.Context, b bounded, what, name string,
	get func(context.Context, string) (T, error)) (x T, _ bounded, err error) {
	if x, err = get(ctx, name); isGone(err) || err == nil && !b.see.showsPlan(x) {
		return *new(T), b, noneOf(what, name)
	}
	if folder, known := folderOfPlan(x); err == nil && known {
		b, err = b.at(folder)
	}
	return x, b, err
}

// governing is the api for one who administers the project, for what an admin of the server may do in any. It is for
// what ends or holds up what another user has made there; their terms begin as that user, and stay theirs.
func (b bounded) governing() api.Server {
	c := b.see.c.In(b.cwd)
	if c.Governs == "" || b.cwd == "" {
		return b.API.Server()
	}
	c.Right = troupe.RightAdmin
	return b.see.bind(c).Server()
}

// terms are what is said of a plan that may be there: b is the api for the folder in which it is to begin.
func terms[T planned](ctx context.Context, b bounded, name string, version *int64,
	get func(context.Context, string) (T, error)) error {
	x, err := get(ctx, name)
	switch {
	case isGone(err):
		return nil
	case err != nil:
		return err
	case !b.see.showsPlan(x):
		*version = 0 // its name is taken: that is all there is to be said of it
		return nil
	}
	if folder, known := folderOfPlan(x); known {
		_, err = b.at(folder)
	}
	return err
}

func (s boundedServer) Schedules() api.Schedules { return boundedSchedules{s.Server.Schedules(), s.b} }

type boundedSchedules struct {
	scheduling

	b bounded
}

// scheduling is api.Schedules under a name that is not one of its methods: a field hides a method of its name.
type scheduling = api.Schedules

func (s boundedSchedules) Schedules(ctx context.Context) ([]wire.Schedule, error) {
	all, err := s.scheduling.Schedules(ctx)
	return slices.DeleteFunc(all, func(x wire.Schedule) bool { return !s.b.see.showsPlan(x) }), err
}

func (s boundedSchedules) one(ctx context.Context, name string) (wire.Schedule, api.Schedules, error) {
	x, b, err := plan(ctx, s.b, "schedule", name, s.scheduling.Schedule)
	if err != nil {
		return x, nil, err
	}
	return x, b.governing().Schedules(), nil
}

func (s boundedSchedules) Schedule(ctx context.Context, name string) (wire.Schedule, error) {
	x, _, err := s.one(ctx, name)
	return x, err
}

func (s boundedSchedules) SetSchedule(ctx context.Context, t wire.ScheduleTerms) (wire.Schedule, error) {
	if err := terms(ctx, s.b, t.Name, &t.Version, s.scheduling.Schedule); err != nil {
		return wire.Schedule{}, err
	}
	return s.b.API.Server().Schedules().SetSchedule(ctx, t)
}

func (s boundedSchedules) RemoveSchedule(ctx context.Context, name string) error {
	_, in, err := s.one(ctx, name)
	if err != nil {
		return err
	}
	return in.RemoveSchedule(ctx, name)
}

func (s boundedSchedules) RunSchedule(ctx context.Context, name string) (wire.Schedule, error) {
	x, in, err := s.one(ctx, name)
	if err != nil {
		return x, err
	}
	return in.RunSchedule(ctx, name)
}

func (s boundedSchedules) PauseSchedule(ctx context.Context, name string, p wire.SchedulePause) (wire.Schedule, error) {
	x, in, err := s.one(ctx, name)
	if err != nil {
		return x, err
	}
	return in.PauseSchedule(ctx, name, p)
}

func (s boundedServer) Webhooks() api.Webhooks { return boundedWebhooks{s.Server.Webhooks(), s.b} }

type boundedWebhooks struct {
	hooking

	b bounded
}

// hooking is api.Webhooks under a name that is not one of its methods.
type hooking = api.Webhooks

func (w boundedWebhooks) Webhooks(ctx context.Context) ([]wire.Webhook, error) {
	all, err := w.hooking.Webhooks(ctx)
	return slices.DeleteFunc(all, func(x wire.Webhook) bool { return !w.b.see.showsPlan(x) }), err
}

func (w boundedWebhooks) one(ctx context.Context, name string) (wire.Webhook, api.Webhooks, error) {
	x, b, err := plan(ctx, w.b, "webhook", name, w.hooking.Webhook)
	if err != nil {
		return x, nil, err
	}
	return x, b.governing().Webhooks(), nil
}

func (w boundedWebhooks) Webhook(ctx context.Context, name string) (wire.Webhook, error) {
	x, _, err := w.one(ctx, name)
	return x, err
}

func (w boundedWebhooks) SetWebhook(ctx context.Context, t wire.WebhookTerms) (wire.WebhookChanged, error) {
	if err := terms(ctx, w.b, t.Name, &t.Version, w.hooking.Webhook); err != nil {
		return wire.WebhookChanged{}, err
	}
	return w.b.API.Server().Webhooks().SetWebhook(ctx, t)
}

func (w boundedWebhooks) RemoveWebhook(ctx context.Context, name string) error {
	_, in, err := w.one(ctx, name)
	if err != nil {
		return err
	}
	return in.RemoveWebhook(ctx, name)
}

func (w boundedWebhooks) PauseWebhook(ctx context.Context, name string, p wire.WebhookPause) (wire.Webhook, error) {
	x, in, err := w.one(ctx, name)
	if err != nil {
		return x, err
	}
	return in.PauseWebhook(ctx, name, p)
}
