package api

import "context"

type progressKey struct{}

// WithProgress has what takes long say how far it is, to a surface in the same process. tell is called by one goroutine
// at a time, and must not take long.
func WithProgress(ctx context.Context, tell func(done, all int)) context.Context {
	return context.WithValue(ctx, progressKey{}, tell)
}

// Progress is what to tell how far something is; where it is of no interest, it does nothing.
func Progress(ctx context.Context) func(done, all int) {
	if tell, ok := ctx.Value(progressKey{}).(func(done, all int)); ok {
		return tell
	}
	return func(int, int) {}
}
