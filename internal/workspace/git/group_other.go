//go:build !unix

package git

import "os/exec"

// endAsGroup does nothing here: the command alone is ended when its time is up.
func endAsGroup(*exec.Cmd) {}
