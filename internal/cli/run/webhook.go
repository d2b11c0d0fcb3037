package run

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// NewWebhookAdd makes `troupe webhook add`: what begins has the flags of any other run. said prints what was made.
func NewWebhookAdd(c *console.Console, said func(wire.WebhookChanged) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: "add NAME [prompt]", Short: "Have a run begin when something is delivered",
		Long: `Have a run begin when a program elsewhere delivers something to a server (troupe serve): an issue was opened, a build has
failed. It begins as yours, in the folder you are in or --cwd, with the right that you have when it does. The secret with
which its sender signs is printed once.

  --signed github      X-Hub-Signature-256: the secret goes into the settings of the webhook at GitHub
  --signed gitlab      X-Gitlab-Token: the secret is GitLab's secret token
  --signed standard    Standard Webhooks: webhook-id, webhook-timestamp, webhook-signature

--only says what begins a run; all that are given have to hold:

  --only action=opened,reopened            a value of the JSON is one of these
  --only repository.full_name=acme/shop
  --only header:X-GitHub-Event=issues      a header is
  --only 'type=*'                          a value is there

{{issue.title}} in the prompt stands for a value of the JSON, {{header:NAME}} for a header, {{.}} for all of the JSON. The
agent is told the values behind the prompt, as data that are no instructions.`,
		Example: `troupe webhook add triage --signed github --only header:X-GitHub-Event=issues --only action=opened \
    --max-cost 1 "triage the issue {{issue.number}}: {{issue.title}} {{issue.body}}"
troupe webhook add build --only type=build.failed --overlap queue --max-runs-per-day 20 "find out why {{data.url}} failed"`,
	}
	var t wire.WebhookTerms
	var only []string
	var replace bool
	configure(cmd, c, func(ctx context.Context, f flags, _ Input, args []string) (err error) {
		if t.Only, err = conditions(only); err != nil {
			return err
		}
		if t.Begin, err = request(c, f, args, ""); err != nil {
			return err
		}
		t.Zone = cmp.Or(t.Zone, zoneHere(c))
		return c.With(ctx, troupe.SurfaceCommand, func(h *home.Home) error {
			all := h.API.Server().Webhooks()
			if replace {
				before, err := all.Webhook(ctx, t.Name)
				if err != nil {
					return err
				}
				t.Version = before.Version
			}
			switch t.Signed {
			case wire.SignedStandard, wire.SignedGitHub, wire.SignedGitLab:
			default:
				return console.Usage("--signed: there is no signature %q; there are standard, github and gitlab",
					string(t.Signed))
			}
			w, err := all.SetWebhook(ctx, t)
			if err != nil {
				return err
			}
			return said(w)
		})
	})
	byItself(cmd, "webhook", &t.Name, &t.MaxRunsPerDay, &t.MaxCostPerDay, &replace)
	fs := cmd.Flags()
	fs.StringVar((*string)(&t.Signed), "signed", string(wire.SignedStandard), "How its sender signs: standard, github "+
		"or gitlab")
	fs.StringArrayVar(&only, "only", nil, "What begins a run, such as action=opened or header:X-GitHub-Event=issues "+
		"(needed); may be given again")
	fs.StringVar(&t.Zone, "zone", "", "Time zone of days, such as Europe/Berlin (default: yours)")
	fs.StringVar((*string)(&t.Overlap), "overlap", string(wire.OverlapAllow),
		"While the last run goes on: allow or queue")
	for flag, words := range map[string]console.Completing{"overlap": console.OneOf("allow", "queue"),
		"signed": console.OneOf("standard", "github", "gitlab")} {
		if err := cmd.RegisterFlagCompletionFunc(flag, words); err != nil {
			panic(err) // there is no such flag
		}
	}
	return cmd
}

// conditions reads what --only says.
func conditions(lines []string) (out []wire.Condition, err error) {
	for _, line := range lines {
		path, is, ok := strings.Cut(line, "=")
		c := wire.Condition{Value: path, Is: strings.Split(is, ",")}
		if name, header := strings.CutPrefix(path, "header:"); header {
			c.Value, c.Header = "", name
		}
		if !ok || path == "" || is == "" {
			return nil, console.Usage("--only %q is no condition; give one such as action=opened,reopened", line)
		}
		out = append(out, c)
	}
	return out, nil
}
