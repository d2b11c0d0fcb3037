package api

import "context"

type (
	progressKey struct{}
	waitsKey    struct{}
)

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

// WithWaits is WithProgress for what is waited for, in words.
func WithWaits(ctx context.Context, tell func(text string)) context.Context {
	return context.WithValue(ctx, waitsKey{}, tell)
}

// Waits is what to tell what is waited for.
func Waits(ctx context.Context) func(text string) {
	if tell, ok := ctx.Value(waitsKey{}).(func(string)); ok {
		return tell
	}
	return func(string) {}
}
