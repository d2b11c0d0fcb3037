package httpd

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/troupe-dev/troupe/internal/wire"

	"golang.org/x/time/rate"
)

// mostKept is how many keys limits knows at once.
const mostKept = 4096

// limits bounds how often each of many may do something. It may be used from several goroutines.
type limits struct {
	rate  rate.Limit
	burst int

	mu   sync.Mutex
	keys map[string]*rate.Limiter
}

func newLimits(perSecond float64, burst int) *limits {
	return &limits{rate: rate.Limit(perSecond), burst: burst, keys: make(map[string]*rate.Limiter)}
}

// take reports whether one may do it once more, and counts it.
func (l *limits) take(key string) bool { return l.of(key).Allow() }

// give gives one back that was taken: it does not count after all. Nobody has more than the burst for it.
func (l *limits) give(key string) { l.of(key).AllowN(time.Now(), -1) }

func (l *limits) of(key string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k, ok := l.keys[key]; ok {
		return k
	}
	if len(l.keys) >= mostKept {
		l.forget()
	}
	k := rate.NewLimiter(l.rate, l.burst)
	l.keys[key] = k
	return k
}

// forget lets go of those that have all they may have: a new start gives them no more. If none has, all begin anew
// with nothing left, or a flood of new keys would free the old ones.
func (l *limits) forget() {
	for key, k := range l.keys {
		if k.Tokens() >= float64(l.burst) {
			delete(l.keys, key)
		}
	}
	if len(l.keys) < mostKept {
		return
	}
	for key := range l.keys {
		delete(l.keys, key)
		if len(l.keys) < mostKept/2 {
			return
		}
	}
}

const (
	// knownFor is how long a token is known that was good, and mostKnown how many are known at once.
	knownFor  = time.Hour
	mostKnown = 10_000
)

// known are the hashes of tokens that were good a while ago. It may be used from several goroutines.
type known struct {
	mu    sync.Mutex
	until map[[sha256.Size]byte]time.Time
}

func newKnown() *known { return &known{until: make(map[[sha256.Size]byte]time.Time)} }

func (k *known) has(secret string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Now().Before(k.until[sha256.Sum256([]byte(secret))])
}

// add notes that a token is good for so long; 0: not any more.
func (k *known) add(secret string, while time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for old := range k.until {
		if len(k.until) < mostKnown {
			break
		}
		delete(k.until, old)
	}
	k.until[sha256.Sum256([]byte(secret))] = time.Now().Add(while)
}

// lookups are those of tokens that are not known, one of each at once.
type lookups struct {
	mu sync.Mutex
	of map[[sha256.Size]byte]*lookup
}

type lookup struct {
	done    chan struct{}
	problem *wire.Problem // once it is done; nil: the token is good
}

// begin reports whether the caller is the first, who looks the token up and says what came of it by end.
func (l *lookups) begin(secret string) (of *lookup, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := sha256.Sum256([]byte(secret))
	if of = l.of[key]; of != nil {
		return of, false
	}
	if l.of == nil {
		l.of = make(map[[sha256.Size]byte]*lookup)
	}
	of = &lookup{done: make(chan struct{})}
	l.of[key] = of
	return of, true
}

func (l *lookups) end(secret string, of *lookup, p *wire.Problem) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, sha256.Sum256([]byte(secret)))
	if p != nil {
		own := *p // the caller's is filled in as it is written
		of.problem = &own
	}
	close(of.done)
}
