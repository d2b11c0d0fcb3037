package httpd

import (
	"context"
	"errors"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Match is what a change is of, where two may write: a version that was read, or nothing yet.
type Match struct {
	IfMatch     string `header:"If-Match" maxLength:"256" doc:"The ETag of what is changed; without it, or as *, whichever is there"`
	IfNoneMatch string `header:"If-None-Match" maxLength:"8" doc:"As *: only if there is none yet"`
}

// into has a precondition be what the headers say. Where a call says it besides, both say the same.
func (m Match) into(p *wire.Precondition) error {
	match, none := strings.TrimSpace(m.IfMatch), strings.TrimSpace(m.IfNoneMatch)
	switch {
	case none != "" && none != "*", none != "" && match+p.IfMatch != "":
		return &troupe.UserError{Problem: "If-None-Match is taken as * alone, and without If-Match",
			Hint: "Say If-Match with an ETag to change what is there.", Code: troupe.ExitUsage}
	case match != "" && (p.IfNew || p.IfMatch != "" && p.IfMatch != match):
		return &troupe.UserError{Problem: "If-Match says another version than the call", Code: troupe.ExitUsage,
			Hint: "Leave out one of the two.", Err: troupe.ErrChanged}
	case match != "":
		p.IfMatch = match
	}
	p.IfNew = p.IfNew || none != ""
	return nil
}

// failed is the error of a change: what was only to be made if there was none has failed its precondition.
func (m Match) failed(err error) error {
	user, ok := errors.AsType[*troupe.UserError](err)
	if !ok || m.IfNoneMatch == "" || !errors.Is(err, troupe.ErrExists) {
		return err
	}
	out := *user
	out.Err = troupe.ErrChanged
	return &out
}

// tagged is an answer about something that has an ETag.
type tagged[T any] struct {
	ETag string `header:"ETag" doc:"Of what the answer is about, for If-Match; left out of an answer about several"`
	Body T
}

// tagOf is the ETag of an answer, or of the one value of a list.
func tagOf(v any) string {
	switch v := v.(type) {
	case interface{ Tag() string }:
		return v.Tag()
	case []wire.Memory:
		if len(v) == 1 {
			return v[0].ETag
		}
	}
	return ""
}

// queryTagged is query for an operation whose answer has an ETag.
func queryTagged[I, T any](o *operations, h huma.API, id string, fn func(api.API, context.Context, *I) (T, error)) {
	huma.Register(h, o.operation(h, id), func(ctx context.Context, in *I) (*tagged[T], error) {
		v, err := carried(ctx, o, id, in, fn)
		if err != nil {
			return nil, err
		}
		return &tagged[T]{tagOf(v), v}, nil
	})
}

// change registers a verb of one noun that changes what two may write.
func change[N, B, T any, P interface {
	*B
	Condition() *wire.Precondition
}](o *operations, h huma.API, id string, noun func(api.API) N, fn func(N, context.Context, B) (T, error)) {
	queryTagged(o, h, id, func(a api.API, ctx context.Context, in *struct {
		Match

		Body B
	},
	) (out T, err error) {
		if err := in.into(P(&in.Body).Condition()); err != nil {
			return out, err
		}
		out, err = fn(noun(a), ctx, in.Body)
		return out, in.failed(err)
	})
}
