package console

import (
	"context"
	"time"
)

// lingers is how long what is left of a stream may take to read once a person has interrupted.
const lingers = time.Second

// Lingering is a context that is over a second after ctx is: for a last look, which a process that does not answer
// must not make long.
func Lingering(ctx context.Context) (last context.Context, end context.CancelFunc) {
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(lingers, cancel)
		context.AfterFunc(last, func() { timer.Stop() })
	})
	return last, func() { stop(); cancel() }
}
