package wire

import (
	"net/http"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// Signature says how the senders of a webhook show that they know its secret.
type Signature string

// Signatures.
const (
	SignedGitHub   Signature = "github"   // X-Hub-Signature-256 over the body
	SignedGitLab   Signature = "gitlab"   // the secret itself, in X-Gitlab-Token
	SignedStandard Signature = "standard" // Standard Webhooks: webhook-id, webhook-timestamp and webhook-signature
)

// Signatures lists them.
func Signatures() []Signature { return []Signature{SignedStandard, SignedGitHub, SignedGitLab} }

// Condition is what a delivery has to say for a run to begin: a header, or a value of its JSON.
type Condition struct {
	Header string   `json:"header,omitempty" maxLength:"100"`
	Value  string   `json:"value,omitempty" maxLength:"500" doc:"A path into the JSON, such as repository.full_name or commits.0.id"`
	Is     []string `json:"is" minItems:"1" maxItems:"100" doc:"Any of these; *: whatever it is, as long as it is there"`
}

// WebhookTerms are what a person says of a webhook.
type WebhookTerms struct {
	Name    string      `json:"name" maxLength:"64" doc:"Letters, digits, dot, dash and underscore"`
	Signed  Signature   `json:"signed" enum:"standard,github,gitlab"`
	Only    []Condition `json:"only" minItems:"1" maxItems:"50" doc:"All of them have to hold for a run to begin"`
	Begin   Begin       `json:"begin" doc:"What begins: a new session, without a name, as begin takes it. {{a.path}} and {{header:NAME}} in the prompt stand for values of the delivery, which follow the prompt as data"`
	Overlap Overlap     `json:"overlap,omitempty" enum:"queue,allow" doc:"While the last run goes on: allow, the default, begins one; queue does when the last is over"`
	Zone    string      `json:"zone,omitempty" maxLength:"64" doc:"IANA name of the time zone that days are of; without it UTC"`
	// Limits of a day, in the zone. 0 is none.
	MaxRunsPerDay int     `json:"max_runs_per_day,omitempty" minimum:"0"`
	MaxCostPerDay float64 `json:"max_cost_per_day,omitempty" minimum:"0" doc:"Dollars: what the runs that began on the day cost together"`
	NewSecret     bool    `json:"new_secret,omitempty" doc:"Give a webhook that is there another secret; the one before is good no more"`
	Version       int64   `json:"version,omitempty" doc:"Of the terms that are changed; 0 makes a new webhook"`
}

// Webhook is one, as it stands.
type Webhook struct {
	WebhookTerms
	Address string `json:"address" doc:"The path at the server to which deliveries are posted, as JSON of at most 1 MB"`
	By      string `json:"by" doc:"Who made it: runs begin as theirs, with the right that they have then"`
	Paused  string `json:"paused,omitempty" doc:"Who paused it; or why Troupe has"`
	Queued  int    `json:"queued,omitempty" doc:"How many deliveries wait for their runs to begin"`
	// Today is the day in the zone.
	RunsToday  int               `json:"runs_today,omitempty"`
	CostToday  float64           `json:"cost_today,omitempty"`
	Unserved   string            `json:"unserved,omitempty" doc:"Why no process begins it"`
	Last       *ScheduleRun      `json:"last,omitempty" doc:"What came of the last delivery that was to begin something"`
	Deliveries []WebhookDelivery `json:"deliveries,omitempty" doc:"The newest of those that were to begin something, of one webhook"`
}

// WebhookChanged is a webhook after a change.
type WebhookChanged struct {
	Webhook
	// Secret is shown once.
	Secret string `json:"secret,omitempty" doc:"What its senders sign with, where it was made by this call"`
}

// WebhookDelivery is what came of a delivery.
type WebhookDelivery struct {
	ID    string           `json:"id" doc:"As its sender named it"`
	At    time.Time        `json:"at"`
	State string           `json:"state" enum:"waits,began,failed,left out" doc:"left out: the webhook was paused, or changed, before its run began"`
	Root  troupe.SessionID `json:"root,omitempty" doc:"The session that began, or is to begin"`
	Why   string           `json:"why,omitempty" doc:"Why none began"`
}

// WebhookPause pauses a webhook.
type WebhookPause struct {
	End bool `json:"end,omitempty" doc:"It takes deliveries again"`
}

// Delivery is a call of a webhook's sender.
type Delivery struct {
	Hook   string // the name of the webhook
	Header http.Header
	Body   []byte
}

// Delivered answers it.
type Delivered struct {
	Session troupe.SessionID `json:"session,omitempty" doc:"The session that begins, or began when the same was delivered before"`
	Again   bool             `json:"again,omitempty" doc:"The same was delivered before, and nothing more begins"`
	Ignored string           `json:"ignored,omitempty" doc:"Why nothing begins: which condition of the webhook does not hold"`
}

// DeliveryPath is where at a server something is delivered to a webhook.
func DeliveryPath(name string) string {
	return strings.Replace(RouteOf(DeliverRoute).Path, "{webhook}", name, 1)
}
