package troupe

// SessionChanged says what a person has changed about a main agent, whatever it is at, asleep included. What is empty
// stayed as it was.
type SessionChanged struct {
	Name  string `json:"name,omitempty"`
	Title string `json:"title,omitempty"`
	// Archived leaves the tree out of lists, and lets nothing of it go on, until it is Unarchived.
	Archived   bool    `json:"archived,omitempty"`
	Unarchived bool    `json:"unarchived,omitempty"`
	Caller     *Caller `json:"caller,omitempty"`
}

// Kind implements Body.
func (SessionChanged) Kind() Kind { return KindSessionChanged }
