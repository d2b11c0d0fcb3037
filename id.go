package troupe

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
)

// SessionID names one session for ever. It has 12 characters (60 bits) of lower-case
// Crockford base32, so that any unique prefix is easy to read out and to type.
type SessionID string

// OwnerID names one process that may advance sessions.
type OwnerID string

// MailID names one piece of mail within its tree. It is derived from what caused the mail,
// which makes sending idempotent.
type MailID string

// Coord is where in its parent's log a session was asked for: the parent's reply number
// (1 for the first) and the index of the call within that reply (0 for the first). It is
// our own identity of a call; a provider's tool-call id is not one, because some servers
// repeat them. Roots have the zero Coord, and the agents that people have made of a session are
// counted from there: no call has what belongs to no reply.
type Coord struct {
	Reply int `json:"reply,omitempty"`
	Call  int `json:"call,omitempty"`
}

// OfCall reports whether a call has the coordinates: the parent itself has asked for the session. A child of which it
// does not was made by a person: a fork, or a member of a team that was begun as one.
func (c Coord) OfCall() bool { return c.Reply > 0 }

// AgentVariable is set in the environment of every command that an agent starts, to the
// agent's session: Troupe's own API refuses those that carry it.
const AgentVariable = "TROUPE_AGENT"

// AgentOf is the session whose agent has started a process with this environment; "" if none has. An agent may have
// emptied the variable: that it is there is what counts.
func AgentOf(lookup func(string) (string, bool)) string {
	agent, is := lookup(AgentVariable)
	switch {
	case !is:
		return ""
	case agent == "":
		return "of no known id"
	}
	return agent
}

// ScratchpadVariable is set there to the folder that the agents of the tree share.
const ScratchpadVariable = "TROUPE_SCRATCHPAD"

const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// NewRootID draws a fresh id from r, which should be crypto/rand.Reader outside tests.
func NewRootID(r io.Reader) (SessionID, error) {
	var b [8]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return "", fmt.Errorf("draw a session id: %w", err)
	}
	return encodeID(binary.BigEndian.Uint64(b[:])), nil
}

// ChildID derives the id of the session that call c of parent asks for. The same call
// always yields the same id, so a birth that is tried again finds what it already made.
func ChildID(parent SessionID, c Coord) SessionID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", parent, c.Reply, c.Call))
	return encodeID(binary.BigEndian.Uint64(sum[:8]))
}

func encodeID(n uint64) SessionID {
	var out [12]byte
	for i := range out {
		out[i] = idAlphabet[n&31]
		n >>= 5
	}
	return SessionID(out[:])
}

// ParseSessionID accepts a whole id as it is written by Troupe.
func ParseSessionID(s string) (SessionID, bool) {
	if len(s) != 12 || !IsIDPrefix(s) {
		return "", false
	}
	return SessionID(s), true
}

// IsIDPrefix reports whether s could be the beginning of a session id.
func IsIDPrefix(s string) bool {
	if s == "" || len(s) > 12 {
		return false
	}
	for i := range len(s) {
		if !isIDByte(s[i]) {
			return false
		}
	}
	return true
}

func isIDByte(c byte) bool {
	for i := range len(idAlphabet) {
		if idAlphabet[i] == c {
			return true
		}
	}
	return false
}
