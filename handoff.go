package troupe

// HandoffAsked is written before the model of the user's choice is asked about what an agent hands to its parent: what
// that may cost is held back from the tree's limits from then on. One without a verdict was lost with its process, and
// is asked again.
type HandoffAsked struct {
	Reply    int         `json:"reply"` // the last one of the run that is about to end
	Model    string      `json:"model"`
	Reserved Reservation `json:"reserved,omitzero"`
}

// HandoffJudged is what that model said, and what it cost the agent: Ask flags the result, Allow does not.
type HandoffJudged struct {
	Reply int `json:"reply"`
	Verdict
}

// HandoffModelRule is the rule of a flag that the model of the user's choice set.
const HandoffModelRule = "model"

// Kind implements Body.
func (HandoffAsked) Kind() Kind { return KindHandoffAsked }

// Kind implements Body.
func (HandoffJudged) Kind() Kind { return KindHandoffJudged }
