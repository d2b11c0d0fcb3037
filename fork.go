package troupe

// ForkAgent is the kind of a session that goes on from another's conversation.
const ForkAgent = "fork"

// MaxForkTurns is how many model replies a fork may have (seed 003).
const MaxForkTurns = 200

// ForkPlaceholder is the one result that every call of the reply that a fork goes on from has in the fork: what the
// calls came to is its parent's, and forks of one reply are to send the same bytes.
const ForkPlaceholder = "A fork goes on from here. What this call comes to is for the agent that made it."

// Fork is where the log of a session goes on from its parent's: behind a reply, in the generation that this belongs to.
// It refers to the parent's log, which only grows; nothing of it is copied.
type Fork struct {
	Session    SessionID `json:"session"`
	Generation int       `json:"generation"`
	Seq        int64     `json:"seq"` // event of the reply
}
