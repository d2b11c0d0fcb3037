package troupe

import "strings"

// VerifierAgent is the type of an agent that checks what another one has done.
const VerifierAgent = "Verification"

// VerifyCall is the number under which such an agent is born, behind all calls of the reply whose result it checks.
const VerifyCall = 1 << 30

// VerifyStarted begins the check of what a run hands over, by an agent of its own, or says why there is none. The run
// waits for that agent.
type VerifyStarted struct {
	Reply   int    `json:"reply"` // the last one of the run that is about to end
	Task    *Task  `json:"task,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// VerifyEnded is the end of that agent.
type VerifyEnded struct {
	Reply   int     `json:"reply"`
	Outcome Outcome `json:"outcome"`
	Mail    MailID  `json:"mail"` // that brought it
}

// Kind implements Body.
func (VerifyStarted) Kind() Kind { return KindVerifyStarted }

// Kind implements Body.
func (VerifyEnded) Kind() Kind { return KindVerifyEnded }

// Verified is what came of the check of a result by an agent.
type Verified struct {
	Session SessionID `json:"session,omitempty"`
	Name    string    `json:"name,omitempty"`
	// Verdict is PASS, FAIL or PARTIAL; "": there is none, and Why says why not.
	Verdict string `json:"verdict,omitempty"`
	Why     string `json:"why,omitempty"`
	Text    string `json:"text,omitempty"` // its last words, as far as they fit; all of them are in its log
	// Commands are those that it ran, as the runtime measured them, and Flags what the check of its own words found.
	Commands []CommandRun `json:"commands,omitempty"`
	Flags    []Flag       `json:"flags,omitempty"`
}

// VerdictOf reads the verdict from what such an agent says last: its last line. "" if there is none.
func VerdictOf(text string) string {
	text = strings.TrimSpace(text)
	line := strings.Trim(text[strings.LastIndex(text, "\n")+1:], " *_`")
	word, ok := strings.CutPrefix(line, "VERDICT:")
	switch word = strings.Trim(word, " *_`."); {
	case ok && (word == "PASS" || word == "FAIL" || word == "PARTIAL"):
		return word
	}
	return ""
}
