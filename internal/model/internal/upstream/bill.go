package upstream

import (
	"bytes"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/internal/encode"
)

// tokens is about how many tokens n bytes of text are: one for every four, rounded up.
//
// OpenAI's help gives a token four characters of English, Anthropic's glossary 3.5, and
// DeepSeek's documentation some three, or 1.7 of Chinese, which are five bytes; code has
// about three. So the figure is on the low side, except for plain prose, of which it may be
// a quarter too much: what nobody has counted is not to look dearer than it was. The script
// model counts by the same rule. What has to fit a window, or under a limit, is estimated
// at three bytes (internal/turn), because there the other side is the careful one.
func tokens(n int) int64 { return int64(n+3) / 4 }

// perImage is what an image in a request counts for. Anthropic bills its width by its
// height by 750, up to 1,600 by most models; OpenAI 765 for one of 1024 by 1024.
const perImage = 1000

// Sent is about how many tokens a request has. image and end are how the JSON of every image in it begins and ends.
func Sent(body encode.Body, image, end string) int64 {
	text, images := 0, int64(0)
	for _, piece := range body {
		for {
			before, rest, ok := bytes.Cut(piece, []byte(image))
			text += len(before)
			if !ok {
				break
			}
			images++
			_, piece, _ = bytes.Cut(rest, []byte(end))
		}
	}
	return tokens(text) + images*perImage
}

// Bill is what one reply costs, told or estimated. A service counts what it has said when
// it has said everything, and some do not even tell before then what they have read: of a
// reply that is cut, broken off or stopped, the rest is estimated. Else such replies would
// cost next to nothing, and no limit would ever end a run of them.
//
// The service's own counts stand as they are. If it has not told any for what was sent,
// the request's bytes are estimated. For what it said, the greater of its last count and
// the estimate of what has come counts: the count that a reply begins with is of a token
// or so. But a count that was told when everything had come is one of everything. Thoughts
// that a service keeps to itself are not known here, and not in the estimate.
type Bill struct {
	// Sent estimates the tokens of the request. It is only asked if the service does not say.
	Sent func() int64

	begun   bool
	absurd  bool // a count was told that no call can have
	told    troupe.Usage
	counted int // how many bytes had come when the service last counted what it said
}

// Begin notes that the service has begun to reply: it has read what was sent.
func (b *Bill) Begin() { b.begun = true }

// Tell takes in the service's counts, each a total so far; 0 is one that it does not tell.
// said is how many bytes of the reply have come by now: text, thinking and calls.
func (b *Bill) Tell(u troupe.Usage, said int) {
	for _, n := range []*int64{&u.Input, &u.Output, &u.CacheRead, &u.CacheWrite} {
		if *n < 0 || *n > maxCount {
			*n, b.absurd = 0, true
		}
	}
	if u.Output > b.told.Output {
		b.counted = said
	}
	b.told = u
}

// Told is what the service has counted.
func (b *Bill) Told() troupe.Usage { return b.told }

// Sum is what the reply has cost, and whether any of that is an estimate. said is as in
// Tell; whole says that the reply has come to its end.
func (b *Bill) Sum(said int, whole bool) (sum troupe.Usage, estimated bool) {
	sum = b.told
	if !b.begun {
		return sum, false
	}
	if cached := sum.CacheRead + sum.CacheWrite; sum.Input+cached == 0 || b.absurd {
		sum.Input = max(sum.Input, b.Sent()-cached)
	}
	if sum.Output == 0 || !whole && said > b.counted {
		sum.Output = max(sum.Output, tokens(said))
	}
	return sum, sum != b.told || b.absurd
}

// Doubt says why the bill of a whole reply is an estimate; "" if it is none, or for want of any count.
func (b *Bill) Doubt() string {
	if !b.absurd {
		return ""
	}
	return "the service counted more tokens than a call can have, so what it cost is estimated"
}
