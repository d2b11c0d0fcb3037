package upstream

import (
	"errors"
	"fmt"
	"strconv"
)

// maxCount is more tokens than one request or reply can have: the largest windows have ten million.
const maxCount = 20_000_000

// Count is a number of tokens as a service tells it. What is no such number is 0, which is one that was not told;
// what no call can have is taken for more than maxCount, and the Bill estimates in its place.
type Count int64

// UnmarshalJSON implements json.Unmarshaler. It refuses no number: one that makes no sense must not cost the reply.
func (c *Count) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	f, err := strconv.ParseFloat(string(data), 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return fmt.Errorf("%s is no number of tokens", Clip(data))
	case f > maxCount: // infinity too, which is what an overflow is read as
		*c = maxCount + 1
	case f < 0:
		*c = 0
	default:
		*c = Count(f)
	}
	return nil
}
