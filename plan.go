package troupe

// Planning is set in the authority of a session for as long as it plans: its mode is ModePlan, and there is a person
// who can end that by approving a plan.
type Planning struct {
	// Before is the mode that holds again when the plan is approved; "" is the parent's.
	Before Mode `json:"before,omitempty"`
	// File is the plan: the one file that the session may write, absolute.
	File string `json:"file"`
}

// EnterPlan is the EnterPlanMode tool's decoded input, and ExitPlan that of ExitPlanMode.
type (
	EnterPlan struct{}
	// ExitPlan has the plan itself where the model sent it along. It counts if nothing was written since one was shown.
	ExitPlan struct{ Plan string }
)

func (EnterPlan) intent() {}
func (ExitPlan) intent()  {}

// InMode is the authority with another mode. Planning begins with plan mode, in file, and ends with any other.
func (a Authority) InMode(mode Mode, file string) Authority {
	switch {
	case mode != ModePlan || file == "":
		a.Planning = nil
	case a.Planning == nil:
		a.Planning = &Planning{Before: a.Mode, File: file}
		if a.Mode == ModePlan {
			a.Planning.Before = ModeDefault
		}
	}
	a.Mode = mode
	return a
}
