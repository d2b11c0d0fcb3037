package httpd

import (
	"sync"

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

// spent reports whether one may not do it now. It counts nothing.
func (l *limits) spent(key string) bool { return l.of(key).Tokens() < 1 }

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
