package upstream

import (
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

// MaxBlocks bounds the blocks of one reply: some 10 MB at a few hundred bytes each, and many times the calls
// that any model has been seen to make at once.
const MaxBlocks = 50_000

// excess is a reply that goes beyond a limit of ours. Asked again, the model would go beyond it again and be
// paid again.
type excess struct{ What string }

func (e *excess) Error() string { return e.What }

// TooManyBlocks is a reply of more than MaxBlocks.
func TooManyBlocks() error { return &excess{What: fmt.Sprintf("more than %d blocks", MaxBlocks)} }

func (c *Client) exceeds(what string) *model.Error {
	return &model.Error{Fault: troupe.FaultBad, Message: c.Clean(fmt.Sprintf("the reply of %s has %s, which is more "+
		"than "+
		"Troupe takes in one reply; ask for less at once", c.o.Service, what))}
}
