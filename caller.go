package troupe

import "fmt"

// Caller is who asks for a use case, by which right, and from where. It stands on every event
// that the call causes.
type Caller struct {
	// Name is who: "you" for the one person of a home, a user's name on a server.
	Name  string `json:"name"`
	Right Right  `json:"right"`
	// Surface is where it was asked, and Process which process asked, if that is known.
	Surface Surface `json:"surface,omitempty"`
	Process int     `json:"pid,omitempty"`
}

// Right is why a caller may do what it asks for.
type Right string

// Rights. A server adds those of its roles.
const (
	RightOwner  Right = "owner"  // the home is theirs
	RightParent Right = "parent" // an agent, over those below it
	RightSystem Right = "system" // Troupe itself: a limit, a deadline, a sweep
)

// Surface is a way in which people and programs reach Troupe.
type Surface string

// Surfaces.
const (
	SurfaceChat     Surface = "chat"     // the conversation
	SurfaceCommand  Surface = "command"  // one command on the command line
	SurfaceHeadless Surface = "headless" // troupe -p
	SurfaceSocket   Surface = "socket"   // HTTP on the owner's socket
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

// You is the one person of a home.
func You(from Surface) Caller { return Caller{Name: "you", Right: RightOwner, Surface: from} }
