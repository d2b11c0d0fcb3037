package troupe

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Caller is who asks for a use case, by which right, and from where. It stands on every event
// that the call causes.
type Caller struct {
	// Name is who: "you" for the one person of a home, a user's name on a server.
	Name  string `json:"name"`
	Right Right  `json:"right"`
	// Surface is where it was asked, and Process which process asked, if that is known.
	Surface Surface `json:"surface,omitempty"`
	Process int     `json:"pid,omitempty"`
	// Token is the one that a server's user has called with: its id, which is no secret.
	Token string `json:"token,omitempty"`
	// Relayed: another process of the same database has passed the call on. It is passed on no further.
	Relayed bool `json:"-"`
	// Projects are those of a user of a server, and Governs the one of them that they administer (see In).
	Projects Projects `json:"-"`
	Governs  string   `json:"-"`
}

// Right is why a caller may do what it asks for.
type Right string

// Rights.
const (
	RightOwner  Right = "owner"  // the home is theirs
	RightParent Right = "parent" // an agent, over those below it
	RightSystem Right = "system" // Troupe itself: a limit, a deadline, a sweep

	// Those of a server's users. Each has what the one before it has.
	RightViewer   Right = "viewer"   // looks at everything, changes nothing
	RightOperator Right = "operator" // begins, steers, stops and answers agents
	RightAdmin    Right = "admin"    // decides besides who may do what, what is trusted, and what is set up
)

// UserRights are the rights that a server's user may have, the least first.
func UserRights() []Right { return []Right{RightViewer, RightOperator, RightAdmin} }

// Covers reports whether who has r may do what needs another right. Only users of a server have less than all: who owns
// a home, or acts in it for an agent or for Troupe itself, is judged elsewhere.
//
// A right that this version does not know covers nothing: a newer one of the same database may have given it.
func (r Right) Covers(needs Right) bool {
	if r == RightOwner || r == RightParent || r == RightSystem {
		return true
	}
	all := UserRights()
	have := slices.Index(all, r)
	return have >= 0 && have >= slices.Index(all, needs)
}

// Answers reports whether it is the right of a person who may answer what agents ask.
func (r Right) Answers() bool { return r == RightOwner || r == RightOperator || r == RightAdmin }

// NotAllowed is the refusal of what needs another right than a user has.
func NotAllowed(needs Right) error { return NotAllowedFor(needs, "this") }

// NotAllowedFor is NotAllowed where only a part of it, in words, needs that right.
func NotAllowedFor(needs Right, part string) error {
	return &UserError{Problem: fmt.Sprintf("%s needs the right %q, which you do not have at this server", part, needs),
		Hint: "An admin of the server can give it: troupe users set NAME --right " + string(needs),
		Code: ExitPermission}
}

// Surface is a way in which people and programs reach Troupe.
type Surface string

// Surfaces.
const (
	SurfaceChat     Surface = "chat"     // the conversation
	SurfaceCommand  Surface = "command"  // one command on the command line
	SurfaceHeadless Surface = "headless" // troupe -p
	SurfaceSocket   Surface = "socket"   // HTTP on the owner's socket
	SurfaceServer   Surface = "server"   // HTTP at the address of a server
	SurfaceSchedule Surface = "schedule" // a schedule, by itself
	SurfaceWebhook  Surface = "webhook"  // a webhook, which something was delivered to
	SurfaceMCP      Surface = "mcp"      // a program that speaks to troupe mcp serve
	SurfaceReplay   Surface = "replay"   // a recording that is played again
)

// String names a caller for people.
func (c Caller) String() string {
	if c.Process > 0 {
		return fmt.Sprintf("%s (process %d)", c.Name, c.Process)
	}
	return c.Name
}

// Key is a key of the caller's as no other caller can have it.
func (c Caller) Key(once string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(c.Name), c.Name, once))
	return hex.EncodeToString(sum[:])
}

// You is the one person of a home.
func You(from Surface) Caller { return Caller{Name: "you", Right: RightOwner, Surface: from} }
