//go:build race

package sim_test

// Under the race detector a seed takes ten times as long, and what the detector could find (code
// that runs are not to share) shows in the first few hundred.
const (
	raced  = true
	played = 300
)
