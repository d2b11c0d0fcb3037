package sim

// Result says what a run was made of, so that a test can see that it covered something.
type Result struct {
	Steps, Crashes, Zombies, Stops, Words, Sessions, Effects, Faults, Requests, Summaries int
	// Of requests: those about what a command had wanted, and those before agents go to the
	// background. Modes and rules that changed, and effects that only an answer had allowed.
	Wants, Ahead, Grants, Leaves int
	// Trees that a process took back from whoever had taken it from it.
	Returns int
	// Judgements that were logged.
	Judged int
	// Pieces of replies that were read on their way, and readers that were ten events behind.
	Pieces, Behind int
	Rests
	Agents
}

// Rests are trees that were left when they had come to rest, and those that were put away, with how often a process was
// refused that wanted one which slept.
type Rests struct{ Left, Sleeps, Refused int }

// Agents is what agents put before people, write down, and are hooked into: plans that a person approved and did not,
// questions that one answered, changes of the list, runs of hooks and those that failed. Verdicts are what the model of
// mode auto said.
type Agents struct {
	Verdicts, Approved, Rejected, Answers, Carried, Listed, Hooks, HooksFailed int
	// Messages between agents, and members of teams that were born.
	Messages, Members int
	// Runs of agents that may change certain files alone, results that an agent checked, and that a model did.
	Bound, Verified, Handed int
	// Steps of workflows that were begun, workers of coordinators, and answers that leads gave.
	Begun, Workers, Led int
}

// Add sums up what two runs were made of.
func (r Result) Add(o Result) Result {
	return Result{
		r.Steps + o.Steps, r.Crashes + o.Crashes, r.Zombies + o.Zombies, r.Stops + o.Stops, r.Words + o.Words,
		r.Sessions + o.Sessions, r.Effects + o.Effects, r.Faults + o.Faults, r.Requests + o.Requests,
		r.Summaries + o.Summaries,
		r.Wants + o.Wants, r.Ahead + o.Ahead, r.Grants + o.Grants, r.Leaves + o.Leaves,
		r.Returns + o.Returns, r.Judged + o.Judged, r.Pieces + o.Pieces, r.Behind + o.Behind,
		Rests{r.Left + o.Left, r.Sleeps + o.Sleeps, r.Refused + o.Refused},
		Agents{r.Verdicts + o.Verdicts,
			r.Approved + o.Approved, r.Rejected + o.Rejected, r.Answers + o.Answers, r.Carried + o.Carried,
			r.Listed + o.Listed,
			r.Hooks + o.Hooks, r.HooksFailed + o.HooksFailed, r.Messages + o.Messages, r.Members + o.Members,
			r.Bound + o.Bound, r.Verified + o.Verified, r.Handed + o.Handed,
			r.Begun + o.Begun, r.Workers + o.Workers, r.Led + o.Led},
	}
}
