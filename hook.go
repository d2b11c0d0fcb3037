package troupe

// HookEvent names a moment of a session at which hooks run, as public configurations write it.
type HookEvent string

// Moments.
const (
	HookPreToolUse        HookEvent = "PreToolUse"
	HookPostToolUse       HookEvent = "PostToolUse"
	HookPostFailure       HookEvent = "PostToolUseFailure"
	HookPermissionRequest HookEvent = "PermissionRequest"
	HookPrompt            HookEvent = "UserPromptSubmit"
	HookSubagentStart     HookEvent = "SubagentStart"
	HookSubagentStop      HookEvent = "SubagentStop"
	HookTaskCreated       HookEvent = "TaskCreated"
	HookTaskCompleted     HookEvent = "TaskCompleted"
	HookTeammateIdle      HookEvent = "TeammateIdle"
	HookStop              HookEvent = "Stop"
	HookSessionStart      HookEvent = "SessionStart"
	HookSessionEnd        HookEvent = "SessionEnd"
	HookNotification      HookEvent = "Notification"
	HookPreCompact        HookEvent = "PreCompact"
	HookPostCompact       HookEvent = "PostCompact"
	HookWorktreeCreate    HookEvent = "WorktreeCreate"
	HookWorktreeRemove    HookEvent = "WorktreeRemove"
)

// HookStatus is no moment of a session: the setting "statusLine" is read, shown and run as a hook of this name.
const HookStatus HookEvent = "Status"

// HookEvents lists the moments.
func HookEvents() []HookEvent {
	return []HookEvent{HookPreToolUse, HookPostToolUse, HookPostFailure, HookPermissionRequest, HookPrompt,
		HookSubagentStart, HookSubagentStop, HookTaskCreated, HookTaskCompleted, HookTeammateIdle, HookStop,
		HookSessionStart, HookSessionEnd, HookNotification, HookPreCompact, HookPostCompact, HookWorktreeCreate,
		HookWorktreeRemove}
}

// HookMoment is what a hook is told: where it runs, for which agent, and about what.
type HookMoment struct {
	Event   HookEvent
	Session Session
	Path    string // of the agent: "main/Auth Explorer"
	// Line are the types of the agents from the main one down to this one: the hooks of an agent's
	// definition hold for it and for all below.
	Line []string
	// Skills are the files of the skills that the agents of that line use, and Own those that this one does: the hooks
	// of a skill hold for whoever has used it, and for all below.
	Skills, Own []string
	Mode        Mode // in force
	// Match are what matchers are compared with: the names of a tool, a type of agent, a source.
	// nil: the moment has nothing to match.
	Match []string
	Call  *Call // that it is about; nil: about none
	// Access is what that call would do, or did; nil: that is not known.
	Access *Access
	// Fields are the parts of the payload that only this moment has.
	Fields map[string]any
}

// HookRan is one run of a hook.
type HookRan struct {
	Event  HookEvent `json:"event"`
	Source string    `json:"source"`          // where it was set
	Type   string    `json:"type"`            // command, http, prompt
	Name   string    `json:"name"`            // the command, the address or the beginning of the prompt
	Coord  *Coord    `json:"coord,omitempty"` // of the call it was about
	// Run is the session's run, for what happens once in each.
	Run        int   `json:"run,omitempty"`
	DurationMS int64 `json:"duration_ms"`
	Exit       int   `json:"exit,omitempty"` // of a command; the status of an answer over HTTP
	// Effect is what it did: one of the HookEffects. "": nothing.
	Effect HookEffect `json:"effect,omitempty"`
	Why    string     `json:"why,omitempty"`  // the reason it gave, or what went wrong with it
	Said   string     `json:"said,omitempty"` // what it printed, shortened
	// Message is what it wants the person to read.
	Message string `json:"message,omitempty"`
	// Path is the folder that it says it has made.
	Path string `json:"path,omitempty"`
	Mail MailID `json:"mail,omitempty"` // the words of a person that it was about
	// Async: no call and no step waited for it.
	Async bool `json:"async,omitempty"`
	// GoesOn: the end that it was about was refused.
	GoesOn bool  `json:"goes_on,omitempty"`
	Usage  Usage `json:"usage,omitzero"` // of a model that was asked
	Cost   Money `json:"cost,omitempty"`
}

// HookEffect is what a hook did.
type HookEffect string

// Effects of hooks.
const (
	HookDenied  HookEffect = "deny"  // it refused the call, the words or the end
	HookAsked   HookEffect = "ask"   // it wants a person to be asked
	HookAllowed HookEffect = "allow" // it allows the call, as far as no rule says otherwise
	HookChanged HookEffect = "input" // it gave the call another input
	HookAdded   HookEffect = "context"
	HookBegun   HookEffect = "begun"  // it goes on beside the session
	HookStopped HookEffect = "stop"   // it ended the run
	HookFailed  HookEffect = "failed" // it hung, crashed or said what cannot be read
)

// HookSaid is what all the hooks of a moment say together: the strictest counts.
type HookSaid struct {
	Ran []HookRan
	// Effect is Deny, Ask, Allow or "". Outside of calls, Deny refuses what the moment is about.
	Effect Effect
	By     string // the hook that said it
	Why    string
	// Input replaces the call's; "" leaves it.
	Input string
	// Context is for the model.
	Context string
	// Stop ends the run, for StopWhy.
	Stop    bool
	StopWhy string
}
