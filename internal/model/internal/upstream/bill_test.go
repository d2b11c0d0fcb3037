package upstream

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/internal/encode"
)

func TestBill(t *testing.T) {
	t.Parallel()
	type count struct {
		told troupe.Usage
		said int // when it was told
	}
	in := func(u troupe.Usage) troupe.Usage { u.Input = 7; return u }
	for name, tt := range map[string]struct {
		counts    []count
		said      int
		notBegun  bool
		cut       troupe.Usage
		whole     troupe.Usage
		estimated bool // the cut reply's
	}{
		"nothing has begun": {notBegun: true},
		"nothing but what was sent": {cut: troupe.Usage{Input: 1000}, whole: troupe.Usage{Input: 1000},
			estimated: true},
		"never told": {said: 401, cut: troupe.Usage{Input: 1000, Output: 101},
			whole: troupe.Usage{Input: 1000, Output: 101}, estimated: true},
		"told as it began": {counts: []count{{in(troupe.Usage{Output: 1}), 0}}, said: 400,
			cut: in(troupe.Usage{Output: 100}), whole: in(troupe.Usage{Output: 1}), estimated: true},
		"only a cache was told": {counts: []count{{troupe.Usage{CacheRead: 5}, 0}}, said: 4,
			cut: troupe.Usage{CacheRead: 5, Output: 1}, whole: troupe.Usage{CacheRead: 5, Output: 1}, estimated: true},
		"counted all": {counts: []count{{in(troupe.Usage{Output: 80}), 400}}, said: 400,
			cut: in(troupe.Usage{Output: 80}), whole: in(troupe.Usage{Output: 80})},
		"counted all, and told again": {counts: []count{{in(troupe.Usage{Output: 80}), 400},
			{in(troupe.Usage{Output: 80, CacheRead: 3}), 400}}, said: 400,
			cut: in(troupe.Usage{Output: 80, CacheRead: 3}), whole: in(troupe.Usage{Output: 80, CacheRead: 3})},
		"repeats how it began": {counts: []count{{in(troupe.Usage{Output: 1}), 0},
			{in(troupe.Usage{Output: 1}), 400}}, said: 400, cut: in(troupe.Usage{Output: 100}),
			whole: in(troupe.Usage{Output: 1}), estimated: true},
		"more came, but hardly any": {counts: []count{{in(troupe.Usage{Output: 180}), 400}}, said: 404,
			cut: in(troupe.Usage{Output: 180}), whole: in(troupe.Usage{Output: 180})},
		"much more came": {counts: []count{{in(troupe.Usage{Output: 180}), 400}}, said: 800,
			cut: in(troupe.Usage{Output: 200}), whole: in(troupe.Usage{Output: 180}), estimated: true},
		"told what was said, not sent": {counts: []count{{troupe.Usage{Output: 9}, 40}}, said: 40,
			cut: troupe.Usage{Input: 1000, Output: 9}, whole: troupe.Usage{Input: 1000, Output: 9}, estimated: true},
	} {
		b := Bill{Sent: func() int64 { return 1000 }}
		if !tt.notBegun {
			b.Begin()
		}
		for _, c := range tt.counts {
			b.Tell(c.told, c.said)
		}
		if got, estimated := b.Sum(tt.said, false); got != tt.cut || estimated != tt.estimated {
			t.Errorf("%s: cut %+v, %v, want %+v, %v", name, got, estimated, tt.cut, tt.estimated)
		}
		if got, _ := b.Sum(tt.said, true); got != tt.whole {
			t.Errorf("%s: whole %+v, want %+v", name, got, tt.whole)
		}
	}
}

func TestSent(t *testing.T) {
	t.Parallel()
	const image = `{"type":"image",`
	for want, body := range map[int64]encode.Body{
		0:    nil,
		3:    {[]byte("12345"), []byte("6789")},
		1003: {[]byte("1234" + image + `"data":"abcdefghijklmnop"}}`), []byte("56789")},
		2001: {[]byte(image + `"data":"abc"}},` + image + `"data":"def"}}`)},
		1000: {[]byte(image + `"data":"never ends`)},
	} {
		if got := Sent(body, image, `"}}`); got != want {
			t.Errorf("%q: %d, want %d", body, got, want)
		}
	}
}
