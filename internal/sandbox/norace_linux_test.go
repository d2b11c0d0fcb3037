//go:build !race

package sandbox

const oneOf = 1
