package git

import (
	"context"
	"os"
	"slices"
)

type keptKey struct{}

// Keeping is a context under which every git has a file open too, until it ends. A git outlives a process of ours that
// is killed: a lock on the file is free when no git that was started under it is at work any more.
func Keeping(ctx context.Context, f *os.File) context.Context {
	return context.WithValue(ctx, keptKey{}, append(slices.Clone(kept(ctx)), f))
}

func kept(ctx context.Context) []*os.File {
	files, _ := ctx.Value(keptKey{}).([]*os.File)
	return files
}
