// Package sim is the deterministic simulation: whole trees of agents, run on one goroutine
// in an order drawn from a seed, over a store that can crash at any write, with models and
// tools that misbehave. The code under test is the shipped code: turn, session, fleet and
// the store's contract; only the scheduler, the clock, the model and the tools are stand-ins.
//
// A seed reruns exactly: `go test ./internal/sim -run Seed -seed 4711 -v` prints every step.
// After each run Check walks the logs and says what must hold of any history, whatever
// happened in it.
package sim
