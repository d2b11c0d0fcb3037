package sim_test

import (
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

type undead struct{ store.Tx }

func (t undead) PutRequest(r troupe.Request) error {
	if !r.Settled.IsZero() {
		return nil
	}
	return t.Tx.PutRequest(r)
}

type rowless struct{ store.Tx }

func (t rowless) PutRequest(r troupe.Request) error {
	if r.Settled.IsZero() {
		return nil
	}
	return t.Tx.PutRequest(r)
}

// nextQuestion forgets which of the requests about a call was answered.
func nextQuestion(m troupe.Mail) {
	if m.Answer == nil {
		return
	}
	at := &m.Answer.Coord
	if _, err := fmt.Sscanf(strings.TrimPrefix(string(m.Answer.Request), string(m.To)), ".%d.%d", &at.Reply, &at.Call); err == nil {
		m.Answer.Request = ""
	}
}
