//go:build race

package sandbox

// The race detector is for this process. What recorded commands do happens in others, which it only
// makes slower to start.
const oneOf = 8
