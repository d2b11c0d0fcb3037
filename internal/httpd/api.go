package httpd

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Reader is what can be looked at.
type Reader interface {
	Find(ctx context.Context, ref, cwd string) (troupe.Session, error)
	List(ctx context.Context, cwd string, limit int) ([]wire.Session, error)
	Report(ctx context.Context, root troupe.SessionID) (wire.Run, error)
	Events(ctx context.Context, id troupe.SessionID, after int64, limit int) ([]troupe.Event, error)
	Tasks(ctx context.Context, id troupe.SessionID) ([]wire.Task, error)
	Requests(ctx context.Context, root troupe.SessionID) ([]wire.Request, error)
	Cost(ctx context.Context, id troupe.SessionID) (wire.Cost, error)
}

// Controller is what can be done to sessions that run, or that somebody will resume.
type Controller interface {
	Send(ctx context.Context, id troupe.SessionID, m wire.Message) (wire.Sent, error)
	Stop(ctx context.Context, id troupe.SessionID, s wire.Stop) error
	Background(ctx context.Context, id troupe.SessionID) error
	Compact(ctx context.Context, id troupe.SessionID, hint string) error
	Answer(ctx context.Context, request string, a wire.Answer) error
}

// Follower reads committed events; see app.Follower.
type Follower interface {
	// Next waits for events. It returns none when ctx is done.
	Next(ctx context.Context) ([]troupe.Event, error)
	// All returns those that were committed since the last call.
	All(ctx context.Context) ([]troupe.Event, error)
	Close()
}

// Cases are the use cases that a server offers.
type Cases struct {
	Read Reader
	Do   Controller
	// Follow begins to follow a tree, or only one session of it, behind the given numbers.
	// A follower that begins at the first event is right too: what was seen is left out here.
	Follow func(root, only troupe.SessionID, after map[troupe.SessionID]int64) Follower
}

const (
	maxMessage = 32 << 20 // words and pictures: more than any provider takes in one request
	maxBody    = 1 << 20  // anything else
	maxRef     = 1024     // bytes of a name, an id or a path of names
	listLimit  = 50
	pageLimit  = 200
	pageMost   = 1000
)

// Target is the {id} of a path.
type Target struct {
	ID string `path:"id" maxLength:"1024" example:"7k3f" doc:"A session: its id, the beginning of one, a name, or a path such as main/Auth Explorer (as one segment: main%2FAuth%20Explorer)"`
}

// body is an answer of one value.
type body[T any] struct{ Body T }

// nothing is an answer without one.
type nothing struct{}

// operations is the API over the use cases.
type operations struct {
	cases Cases
	// streaming bounds a context by the life of the server's streams.
	streaming func(context.Context) (context.Context, context.CancelFunc)
}

// session finds what a path names. A whole id never means a name that looks like one.
func (o *operations) session(ctx context.Context, ref string) (troupe.Session, error) {
	s, err := o.cases.Read.Find(ctx, ref, "")
	if id, whole := troupe.ParseSessionID(ref); err == nil && whole && s.ID != id {
		err = &troupe.UserError{
			Problem: fmt.Sprintf("%q is the name of session %s, and an id is meant here", ref, s.ID),
			Hint:    "Use that id.", Code: wrongUsage, Err: troupe.ErrAmbiguous,
		}
	}
	return s, err
}

// id is session for calls that look it up themselves.
func (o *operations) id(ctx context.Context, ref string) (troupe.SessionID, error) {
	if id, whole := troupe.ParseSessionID(ref); whole {
		return id, nil
	}
	s, err := o.session(ctx, ref)
	return s.ID, err
}

// describe makes the API on mux and returns its description.
func (o *operations) describe(mux *http.ServeMux) *huma.OpenAPI {
	const prefix = "#/components/schemas/"
	api := humago.New(mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Troupe", Version: "1",
				Description: "See, steer, stop and answer agents while they run. Served on the unix socket of each process that runs agents; fields are added to these shapes, never renamed or used for something else. Processes that an agent started are refused.",
			},
			Components: &huma.Components{Schemas: huma.NewMapRegistry(prefix, huma.DefaultSchemaNamer)},
		},
		Formats:       map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{ownProblem},

		RejectUnknownQueryParameters: true, // a misspelt one would be as good as none
	})
	o.sessions(api)
	o.events(api)
	o.control(api)
	o.requests(api)
	// Every operation answers with Problem; huma's own model is not part of this API.
	schemas := api.OpenAPI().Components.Schemas.Map()
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
	// What is sent to us has to be understood whole: a field that nobody knows is refused.
	// What we answer may grow.
	for name, schema := range schemas {
		if !slices.Contains(inputs(), name) {
			schema.AdditionalProperties = nil
		}
	}
	return api.OpenAPI()
}

// inputs names the schemas of what is sent to us.
func inputs() []string { return []string{"Message", "Image", "Stop", "CompactRequest", "Answer"} }

// operation is what all operations have in common.
func operation(api huma.API, method, path, id, summary string) huma.Operation {
	schema := api.OpenAPI().Components.Schemas.Schema(typeOf[Problem](), true, "Problem")
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, MaxBodyBytes: maxBody,
		Responses: map[string]*huma.Response{"default": {
			Description: "What went wrong",
			Content:     map[string]*huma.MediaType{problemType: {Schema: schema}},
		}},
	}
}

// get registers an operation that reads.
func get[I, T any](api huma.API, path, id, summary string, fn func(context.Context, *I) (T, error)) {
	huma.Register(api, operation(api, http.MethodGet, path, id, summary), func(ctx context.Context, in *I) (*body[T], error) {
		v, err := fn(ctx, in)
		if err != nil {
			return nil, problem(err)
		}
		return &body[T]{v}, nil
	})
}

// post registers an operation that does something and has nothing to say.
func post[I any](api huma.API, path, id, summary string, fn func(context.Context, *I) error) {
	huma.Register(api, operation(api, http.MethodPost, path, id, summary), func(ctx context.Context, in *I) (*nothing, error) {
		if err := fn(ctx, in); err != nil {
			return nil, problem(err)
		}
		return &nothing{}, nil
	})
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }
