package app

import (
	"context"

	"github.com/troupe-dev/troupe/internal/app/schedule"
	"github.com/troupe-dev/troupe/internal/wire"
)

// webhooks implements api.Webhooks.
type webhooks struct{ bound }

// HooksOf are the webhooks of a home. What is delivered to them is noted.
func HooksOf(a *App) *schedule.Hooks {
	return schedule.NewHooks(a.db, spending{standings{a}}, a.env.Now, schedule.HookOptions{Users: PeopleOf(a),
		Mask: a.Mask,
		Note: func(ctx context.Context, by string, d wire.Delivery, id string) (func(context.Context, error), error) {
			return ActsOf(a).Begin(ctx, wire.Act{By: by, Verb: wire.DeliverRoute, About: d.Hook, With: id})
		}})
}

// Webhooks implements api.Webhooks, as do the methods below.
func (a webhooks) Webhooks(ctx context.Context) ([]wire.Webhook, error) {
	return HooksOf(a.app).List(ctx)
}

func (a webhooks) Webhook(ctx context.Context, name string) (wire.Webhook, error) {
	return HooksOf(a.app).One(ctx, name)
}

func (a webhooks) SetWebhook(ctx context.Context, t wire.WebhookTerms) (out wire.WebhookChanged, err error) {
	if t.Begin, err = beginnable(a.app, t.Begin, false); err != nil {
		return out, err
	}
	err = a.noted(ctx, "set-webhook", t, func() error {
		out, err = HooksOf(a.app).Set(ctx, a.caller, t)
		return err
	})
	return out, err
}

func (a webhooks) RemoveWebhook(ctx context.Context, name string) error {
	return a.noted(ctx, "remove-webhook", wire.WebhookTerms{Name: name}, func() error {
		return HooksOf(a.app).Remove(ctx, a.caller, name)
	})
}

func (a webhooks) PauseWebhook(ctx context.Context, name string, p wire.WebhookPause) (out wire.Webhook, err error) {
	err = a.noted(ctx, "pause-webhook", pausing{name, p.End}, func() error {
		out, err = HooksOf(a.app).Pause(ctx, a.caller, name, !p.End)
		return err
	})
	return out, err
}
