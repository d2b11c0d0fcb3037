package httpd

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/app/metrics"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Bind are the use cases that a server offers, as whoever calls may ask for them.
type Bind func(troupe.Caller) api.API

const (
	maxMessage = 32 << 20 // words and pictures: more than any provider takes in one request
	maxBody    = 1 << 20  // anything else
	pageLimit  = 200
	// mostItems is how many values a list may have that is sent, such as rules: more than any person writes, and few
	// enough that what compares each with each is done within a second.
	mostItems = 1000
)

// Target is the {id} of a path.
type Target struct {
	meant

	ID string `path:"id" maxLength:"1024" example:"7k3f" doc:"A session: its id, the beginning of one, a name, or a path such as main/Auth Explorer (as one segment: main%2FAuth%20Explorer)"`
}

// meant is of whom or what a caller named, whose whole id stands in the place of that once it is known.
type meant struct {
	typed   string
	session troupe.SessionID
	cwd     string
}

// naming is what is sent that names a session, or something of one.
type naming interface {
	// resolve finds out what is named. What is not there stays as it was: the verb says so.
	resolve(ctx context.Context, a api.API) *meant
}

func (t *Target) resolve(ctx context.Context, a api.API) *meant {
	if s, err := session(ctx, a, t.ID); err == nil && t.session == "" {
		t.meant, t.ID = meant{t.ID, s.ID, s.Cwd}, string(s.ID)
	}
	return &t.meant
}

func (r *Asked) resolve(ctx context.Context, a api.API) *meant {
	if x, err := a.Request(ctx, r.id()); err == nil && r.session == "" {
		r.meant, r.Request = meant{r.Request, x.Session, x.Folder}, x.ID
	}
	return &r.meant
}

// body is an answer of one value.
type body[T any] struct{ Body T }

// nothing is an answer without one.
type nothing struct{}

// operations is the API over the use cases.
type operations struct {
	bind Bind
	keys Keys    // of a server; nil: a socket, whose callers are known by their processes
	in   folders // in which a server has agents work
	// checkouts holds the folders of repositories that it has checked out; "": it has none.
	checkouts string
	acts      Acts     // what its users do is noted there; nil: nowhere
	hooks     Webhooks // take deliveries; nil: nothing does
	log       *slog.Logger

	metrics *metrics.Set // nil: nothing is counted
	traffic *traffic
	// streaming bounds a context by the life of the server's streams.
	streaming func(context.Context) (context.Context, context.CancelFunc)
	open      open
	looks     looks
	any       map[string]bool // fields that may hold anything
	large     chan struct{}   // holds one for each large body that is being read
}

// permit has an operation answer only those who may have the verb. What others send is not looked at; that they have
// tried is noted.
func (o *operations) permit(h huma.API, verb string) func(huma.Context, func(huma.Context)) {
	needs := wire.RouteOf(verb).Needs
	return func(hc huma.Context, next func(huma.Context)) {
		ctx := hc.Context()
		c := caller(ctx)
		if mayDo(c, verb) {
			next(hc)
			return
		}
		err := troupe.NotAllowed(needs)
		if o.acts != nil {
			end, nerr := o.acts.Begin(ctx, wire.Act{By: c.Name, Right: c.Right, Token: c.Token, Verb: verb,
				About: wire.Cut(hc.Param("id"))})
			if nerr == nil {
				end(ctx, err)
			} else { // it is refused for all that
				o.log.WarnContext(ctx, "note who was refused", "by", c.Name, "verb", verb, "error", nerr)
			}
		}
		refuse(h, hc, wire.NewProblem(err))
	}
}

// noted has noted what a user of a server is about to do, unless they only look, with the right that they have where
// they do it. end notes what came of it. A is the api that they have for it.
func (o *operations) noted(ctx context.Context, verb string, in any, a api.API) (end func(context.Context, error),
	err error) {
	if !o.notes(verb) {
		return func(context.Context, error) {}, nil
	}
	c := caller(ctx)
	about, with := wire.Told(in)
	act := wire.Act{By: c.Name, Right: judged(a, c).Right, Token: c.Token, Verb: verb, About: about, With: with}
	if n, ok := in.(naming); ok && c.Surface == troupe.SurfaceServer {
		if m := n.resolve(ctx, o.bounds(c, verb)); m.session != "" {
			act.About, act.Session, act.Right = wire.Cut(m.typed), m.session, c.In(m.cwd).Right
		}
	}
	noted, err := o.acts.Begin(ctx, act)
	return func(ctx context.Context, err error) {
		noted(ctx, err)
		o.log.InfoContext(ctx, "act", "verb", verb, "by", c.Name, "about", act.About, "with", with, "done", err == nil,
			"request_id", calledOf(ctx).id)
	}, err
}

// notes reports whether it is noted who uses a verb: those that only look are not.
func (o *operations) notes(verb string) bool {
	r := wire.RouteOf(verb)
	return o.acts != nil && r.Method != http.MethodGet && (r.Needs != troupe.RightViewer || verb == "revoke")
}

// as is the use cases for who makes a request, if they may send with the verb what they do. In is a pointer to that.
func (o *operations) as(ctx context.Context, verb string, in any) (api.API, error) {
	c := caller(ctx)
	if c.Surface != troupe.SurfaceServer {
		return o.bind(c), nil
	}
	g := o.ground(ctx, verb)
	if err := g.admit(verb, in); err != nil {
		return nil, err
	}
	a := o.bounds(c, verb)
	if b, ok := a.(bounded); ok && b.API == nil && g.at != "" {
		return b.at(g.at)
	}
	return a, nil
}

// session finds what a path names. A whole id never means a name that looks like one.
func session(ctx context.Context, a api.API, ref string) (wire.Session, error) {
	s, err := a.Find(ctx, ref, "")
	if id, whole := troupe.ParseSessionID(ref); err == nil && whole && s.ID != id {
		err = &troupe.UserError{
			Problem: fmt.Sprintf("%q is the name of session %s, and an id is meant here", ref, s.ID),
			Hint:    "Use that id.", Code: troupe.ExitUsage, Err: troupe.ErrAmbiguous,
		}
	}
	return s, err
}

// identify is session for calls that look it up themselves, with the api for what is about that session.
func identify(ctx context.Context, a api.API, ref string) (api.API, troupe.SessionID, error) {
	b, isBounded := a.(bounded) // a session of which it has to be known whether it is there
	if id, whole := troupe.ParseSessionID(ref); whole && !isBounded {
		return a, id, nil
	}
	s, err := session(ctx, a, ref)
	if err == nil && isBounded {
		a, err = b.at(s.Cwd)
	}
	return a, s.ID, err
}

// describe makes the API on mux and returns its description.
func (o *operations) describe(mux *http.ServeMux) *huma.OpenAPI {
	const prefix = "#/components/schemas/"
	h := humago.New(mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Troupe", Version: "1",
				Description: "Begin, see, steer, stop and answer agents. Served on the unix socket of each process " +
					"that runs agents, where processes that an agent started are refused, and by `troupe serve` at " +
					"an " +
					"address, where each call comes with a token (`Authorization: Bearer …`, from sign-in) and needs " +
					"the right that its description names. Fields are added to these shapes, never renamed or used " +
					"for something else.",
			},
			Components: &huma.Components{Schemas: huma.NewMapRegistry(prefix, huma.DefaultSchemaNamer)},
		},
		Formats:       map[string]huma.Format{"application/json": o.format(), "json": o.format()},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{ownProblem},

		RejectUnknownQueryParameters: true, // a misspelt one would be as good as none
	})
	o.open.of, o.large = make(map[string]int), make(chan struct{}, mostLarge)
	o.looks.of, o.looks.all = make(map[string]*turns), make(chan struct{}, mostLooksAll)
	o.sessions(h)
	o.events(h)
	o.runs(h)
	o.steering(h)
	o.requests(h)
	o.files(h)
	o.machine(h)
	o.people(h)
	o.schedules(h)
	o.webhooks(h)
	o.targets(h)
	o.stored(h)
	// Every operation answers with Problem; huma's own model is not part of this API.
	schemas := h.OpenAPI().Components.Schemas.Map()
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
	o.free(schemas)
	// What is sent to us has to be understood whole: a field that nothing knows is refused.
	// What we answer may grow.
	sent := make(map[string]bool)
	for _, p := range h.OpenAPI().Paths {
		if p.Post != nil && p.Post.RequestBody != nil {
			for _, media := range p.Post.RequestBody.Content {
				addRefs(schemas, media.Schema, sent)
			}
		}
	}
	for name, schema := range schemas {
		if !sent[name] {
			schema.AdditionalProperties = nil
		}
	}
	return h.OpenAPI()
}

// addRefs adds to out the names of the schemas that s holds, at any depth, and bounds the lists among them.
func addRefs(schemas map[string]*huma.Schema, s *huma.Schema, out map[string]bool) {
	if s == nil {
		return
	}
	if s.Items != nil && s.MaxItems == nil {
		most := mostItems
		s.MaxItems = &most
		s.PrecomputeMessages()
	}
	if name := path.Base(s.Ref); s.Ref != "" && !out[name] {
		out[name] = true
		addRefs(schemas, schemas[name], out)
	}
	addRefs(schemas, s.Items, out)
	for _, p := range s.Properties {
		addRefs(schemas, p, out)
	}
}

// operation is what a route and all operations have in common.
func (o *operations) operation(h huma.API, id string) huma.Operation {
	r := wire.RouteOf(id)
	schema := h.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[wire.Problem](), true, "Problem")
	most := int64(maxBody)
	about := fmt.Sprintf("At a server: with the right %s.", r.Needs)
	if r.InProject {
		about = fmt.Sprintf("At a server: with the right %s, there or in the project of what it is about.", r.Needs)
	}
	between := huma.Middlewares{o.permit(h, id)}
	if r.Large {
		most, between = maxMessage, append(between, o.fewLarge(h))
	}
	if (r.Method == http.MethodGet || r.Needs == troupe.RightViewer) && id != "wait" {
		between = append(between, o.fewLooks(h, id))
	}
	if r.Open {
		about, between = "Without a token. At a server alone.", nil
	}
	return huma.Operation{
		OperationID: id, Method: r.Method, Path: r.Path, Summary: r.Summary, Description: about, MaxBodyBytes: most,
		Middlewares: between,
		Responses: map[string]*huma.Response{"default": {
			Description: "What went wrong",
			Content:     map[string]*huma.MediaType{problemType: {Schema: schema}},
		}},
	}
}

// query registers an operation that answers with a value.
func query[I, T any](o *operations, h huma.API, id string, fn func(api.API, context.Context, *I) (T, error)) {
	huma.Register(h, o.operation(h, id), func(ctx context.Context, in *I) (*body[T], error) {
		v, err := carried(ctx, o, id, in, fn)
		if err != nil {
			return nil, err
		}
		return &body[T]{v}, nil
	})
}

// carried is what a verb answers to what was sent; an error is a problem.
func carried[I, T any](ctx context.Context, o *operations, id string, in *I,
	fn func(api.API, context.Context, *I) (T, error)) (v T, err error) {
	a, err := o.as(ctx, id, in)
	end, nerr := o.noted(ctx, id, in, a) // with the folder that is meant by now
	if nerr != nil {
		return v, wire.NewProblem(nerr)
	}
	if err == nil {
		v, err = fn(a, ctx, in)
	}
	if end(ctx, err); err != nil {
		return v, wire.NewProblem(err)
	}
	return v, nil
}

// do registers an operation that does something and has nothing to say.
func do[I any](o *operations, h huma.API, id string, fn func(api.API, context.Context, *I) error) {
	huma.Register(h, o.operation(h, id), func(ctx context.Context, in *I) (*nothing, error) {
		a, err := o.as(ctx, id, in)
		end, nerr := o.noted(ctx, id, in, a)
		if nerr != nil {
			return nil, wire.NewProblem(nerr)
		}
		if err == nil {
			err = fn(a, ctx, in)
		}
		if end(ctx, err); err != nil {
			return nil, wire.NewProblem(err)
		}
		return &nothing{}, nil
	})
}

// querySession registers a verb about the session that a path names, and doSession one that does
// something to it and has nothing to say.
func querySession[T any](o *operations, h huma.API, id string, fn func(api.API, context.Context, troupe.SessionID) (T,
	error)) {
	query(o, h, id, func(a api.API, ctx context.Context, in *struct{ Target }) (T, error) {
		return with(ctx, a, in.Target, fn)
	})
}

func doSession(o *operations, h huma.API, id string, fn func(api.API, context.Context, troupe.SessionID) error) {
	do(o, h, id, func(a api.API, ctx context.Context, in *struct{ Target }) error {
		_, err := with(ctx, a, in.Target, func(a api.API, ctx context.Context, id troupe.SessionID) (nothing, error) {
			return nothing{}, fn(a, ctx, id)
		})
		return err
	})
}

// with calls fn with the session that a path names.
func with[T any](ctx context.Context, a api.API, t Target, fn func(api.API, context.Context, troupe.SessionID) (T,
	error)) (v T, err error) {
	a, id, err := identify(ctx, a, t.ID)
	if err != nil {
		return v, err
	}
	return fn(a, ctx, id)
}

// Where is the folder that a question is about.
type Where struct {
	Cwd string `query:"cwd" maxLength:"4096" doc:"The folder that is meant"`
}

// queryFolder registers a verb about a folder, and queryBody one that takes a value.
func queryFolder[T any](o *operations, h huma.API, id string, fn func(api.API, context.Context, string) (T, error)) {
	query(o, h, id, func(a api.API, ctx context.Context, in *Where) (T, error) { return fn(a, ctx, in.Cwd) })
}

func queryBody[B, T any](o *operations, h huma.API, id string, fn func(api.API, context.Context, B) (T, error)) {
	query(o, h, id, func(a api.API, ctx context.Context, in *body[B]) (T, error) { return fn(a, ctx, in.Body) })
}

// targeted is a body for a session.
type targeted[B any] struct {
	Target

	Body B
}

// queryWithBody registers a verb that gives a session something, and doWithBody one that has
// nothing to say.
func queryWithBody[B, T any](o *operations, h huma.API, id string,
	fn func(api.API, context.Context, troupe.SessionID, B) (T, error)) {
	query(o, h, id, func(a api.API, ctx context.Context, in *targeted[B]) (T, error) {
		return with(ctx, a, in.Target, func(a api.API, ctx context.Context, id troupe.SessionID) (T, error) {
			return fn(a, ctx, id, in.Body)
		})
	})
}

func doWithBody[B any](o *operations, h huma.API, id string, fn func(api.API, context.Context, troupe.SessionID,
	B) error) {
	do(o, h, id, func(a api.API, ctx context.Context, in *targeted[B]) error {
		a, id, err := identify(ctx, a, in.ID)
		if err != nil {
			return err
		}
		return fn(a, ctx, id, in.Body)
	})
}
