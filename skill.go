package troupe

// SkillUse is a skill or a command that a session uses: what its log says of it.
type SkillUse struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	// Folder is the skill's own: the session may read it without asking, except what is hidden or denied.
	Folder string `json:"folder,omitempty"`
	// Narrows is what it leaves of the session's tools until a person's next prompt; nil: all.
	Narrows *Narrowing `json:"narrows,omitempty"`
	// Model ("provider/id") and Effort are what replies are asked for until then; "": as before.
	Model  string `json:"model,omitempty"`
	Effort Effort `json:"effort,omitempty"`
	// Ran are the commands of its text that were run for a person who used it.
	Ran []CommandRun `json:"ran,omitempty"`
	// Left says what of its text was not run or read for a person who used it, and why.
	Left []string `json:"left,omitempty"`
}

// Narrowing is what is left of a session's tools. It only takes away.
type Narrowing struct {
	// Tools are rules of what may be used, such as Read and Bash(git log *); nil: all. With none, nothing may be.
	Tools []string `json:"tools"`
	// Without are tools that may not be, even so.
	Without []string `json:"without,omitempty"`
}
