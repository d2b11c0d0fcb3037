package sim

// Result says what a run was made of, so that a test can see that it covered something.
type Result struct {
	Steps, Crashes, Zombies, Stops, Words, Sessions, Effects, Faults, Requests, Summaries int
}

// Add sums up what two runs were made of.
func (r Result) Add(o Result) Result {
	return Result{
		r.Steps + o.Steps, r.Crashes + o.Crashes, r.Zombies + o.Zombies, r.Stops + o.Stops, r.Words + o.Words,
		r.Sessions + o.Sessions, r.Effects + o.Effects, r.Faults + o.Faults, r.Requests + o.Requests, r.Summaries + o.Summaries,
	}
}
