package troupe

// Slept has a session stand still: nothing of it goes on, in no process, until a person wakes its tree. It is in the
// log of the root and of each session whose run has not ended. Nothing else than Woke follows it there. What was under
// way was cut off before it, as by a crash.
type Slept struct {
	Caller *Caller `json:"caller,omitempty"`
}

// Woke has a session go on that stood still.
type Woke struct {
	Caller *Caller `json:"caller,omitempty"`
}

// Kind implements Body.
func (Slept) Kind() Kind { return KindSlept }

// Kind implements Body.
func (Woke) Kind() Kind { return KindWoke }
