// Package sim is the deterministic simulation: whole trees of agents, run on one goroutine
// in an order drawn from a seed, over a store that can crash at any write, with models,
// tools and people that misbehave. The code under test is the shipped code: turn, session,
// fleet, the gate, the governor, what followers read and the store's contract; only the scheduler, the clock, the
// models, the tools and the people are stand-ins.
//
// A seed reruns exactly: `go test ./internal/sim -run 'TestSeed$' -seed 4711 -v` prints every step. What must hold of
// each step is checked as it is committed (watch.go), what must hold of a whole history once the tree is at rest
// (check.go). Who was allowed what is kept a second time, from commits alone, and everything that takes effect is held
// against it (law.go). Some follow the tree, well or far behind, from process to process (audience.go). In a third of
// the seeds the main agent may lead a team (team.go, lead.go); in others it follows a workflow (flow.go), or has others
// do all work. Agents may be started to change certain files alone (claims.go), and what they hand over may be checked
// (checks.go).
//
// Everything of one run happens on the goroutine that called Run: what a process would do on
// goroutines of its own are coroutines here, and a run ends with all of them ended. Runs share
// nothing, so many may go side by side.
package sim
