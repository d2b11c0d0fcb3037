package httpd

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Hooked is the {webhook} of a path.
type Hooked struct {
	Name string `path:"webhook" maxLength:"64" doc:"The name of a webhook"`
}

// posted is what is posted to a webhook: which of its headers count, its signature says.
type posted struct {
	Hooked

	RawBody []byte `contentType:"application/json"`

	header http.Header
}

// Resolve implements huma.Resolver.
func (p *posted) Resolve(hc huma.Context) []error {
	p.header = http.Header{}
	hc.EachHeader(p.header.Add)
	return nil
}

func (o *operations) webhooks(h huma.API) {
	query(o, h, "webhooks", func(a api.API, ctx context.Context, _ *struct{}) ([]wire.Webhook, error) {
		return webhooks(a).Webhooks(ctx)
	})
	query(o, h, "webhook", func(a api.API, ctx context.Context, in *Hooked) (wire.Webhook, error) {
		return webhooks(a).Webhook(ctx, in.Name)
	})
	of(o, h, "set-webhook", webhooks, api.Webhooks.SetWebhook)
	do(o, h, "remove-webhook", func(a api.API, ctx context.Context, in *Hooked) error {
		return webhooks(a).RemoveWebhook(ctx, in.Name)
	})
	query(o, h, "pause-webhook", func(a api.API, ctx context.Context, in *struct {
		Hooked

		Body wire.WebhookPause
	},
	) (wire.Webhook, error) {
		return webhooks(a).PauseWebhook(ctx, in.Name, in.Body)
	})
	op := o.operation(h, wire.DeliverRoute)
	op.DefaultStatus, op.SkipValidateBody = http.StatusAccepted, true
	huma.Register(h, op, func(ctx context.Context, in *posted) (*body[wire.Delivered], error) {
		if o.hooks == nil {
			return nil, problem(http.StatusUnauthorized, "nothing is delivered here", "Call the address of the server.")
		}
		out, err := o.hooks.Deliver(ctx, wire.Delivery{Hook: in.Name, Header: in.header, Body: in.RawBody})
		if err == nil {
			return &body[wire.Delivered]{out}, nil
		}
		p := wire.NewProblem(err)
		switch {
		case refusedBy(err):
			p.Status = http.StatusUnauthorized
		case p.Kind == "limit":
			p.Status = http.StatusTooManyRequests
		case p.Status >= http.StatusInternalServerError:
			p = unreachable(o.log, err)
		}
		p.Title = http.StatusText(p.Status)
		return nil, p
	})
}

func webhooks(a api.API) api.Webhooks { return a.Server().Webhooks() }
