package troupe

// AutoAsked is written before the model of mode auto is asked about a call: what that may cost is held back from the
// tree's limits from then on. One without a verdict was lost with its process, and is asked again.
type AutoAsked struct {
	Reply    int         `json:"reply"`
	Call     int         `json:"call"`
	Model    string      `json:"model"`
	Reserved Reservation `json:"reserved,omitzero"`
}

// AutoJudged is what that model said, and what it cost the session whose call it is about.
type AutoJudged struct {
	Reply int `json:"reply"`
	Call  int `json:"call"`
	Verdict
}

// Verdict is what the model of mode auto says about a call. It can allow; all else leaves the call to a person.
type Verdict struct {
	Model  string `json:"model"`
	Effect Effect `json:"effect"` // Allow or Ask
	Why    string `json:"why,omitempty"`
	// Failed: it said nothing that counts, and Why is what happened instead.
	Failed     bool  `json:"failed,omitempty"`
	Usage      Usage `json:"usage,omitzero"`
	Cost       Money `json:"cost,omitempty"`
	Unpriced   bool  `json:"unpriced,omitempty"`
	DurationMS int64 `json:"duration_ms,omitempty"`
}

// Kind implements Body.
func (AutoAsked) Kind() Kind { return KindAutoAsked }

// Kind implements Body.
func (AutoJudged) Kind() Kind { return KindAutoJudged }
