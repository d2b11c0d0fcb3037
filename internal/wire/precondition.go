package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Precondition says what has to be so for a change to be made: that nobody else has changed it since it was read. Over
// HTTP the headers If-Match and If-None-Match say the same.
type Precondition struct {
	IfMatch string `json:"if_match,omitempty" maxLength:"256" doc:"The etag of what is changed, as the header If-Match has it; if it is another one by now nothing is changed. * is any"`
	IfNew   bool   `json:"if_new,omitempty" doc:"Only if there is none yet, as the header If-None-Match: * says"`
}

// Condition is the precondition of what embeds one.
func (p *Precondition) Condition() *Precondition { return p }

// ETag is a name for content: the same for the same parts.
func ETag(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(p), p) // a hash takes all
	}
	const half = sha256.Size / 2
	return strconv.Quote(hex.EncodeToString(h.Sum(nil)[:half]))
}

// Check refuses a change of what is another thing by now than the precondition says. now is its etag; "": it is not
// there. look is how it is read again.
func (p Precondition) Check(what, now, look string) error {
	problem := ""
	switch {
	case p.IfNew && now != "":
		return &troupe.UserError{Problem: what + " is there already", Code: troupe.ExitUsage, Err: troupe.ErrExists,
			Hint: "Look at it (" + look + "), and change it with its etag."}
	case p.IfMatch == "" || now != "" && p.matches(now):
		return nil
	case now == "":
		problem = what + " is not there any more"
	default:
		problem = what + " was changed since you read it"
	}
	return &troupe.UserError{Problem: problem + "; it stays as it is", Hint: "Look at it again (" + look +
		"), and make your change of what is there now.", Code: troupe.ExitUsage, Err: troupe.ErrChanged}
}

func (p Precondition) matches(now string) bool {
	for tag := range strings.SplitSeq(p.IfMatch, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || tag == now {
			return true
		}
	}
	return false
}
