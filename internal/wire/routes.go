package wire

import (
	"net/http"

	"github.com/troupe-dev/troupe"
)

// Route is how a verb of the api is called over HTTP.
type Route struct {
	ID, Method, Path, Summary string

	Large bool // words or pictures are sent with it
	Slow  bool // the answer may take minutes: it asks a model, or runs what a command of a file names

	// Needs is the right that a user of a server has to have. InProject: for what is in a project of theirs that in
	// the project will do; else it is the one at the server.
	Needs     troupe.Right
	InProject bool
	Open      bool // no token is needed
}

// Routes are all there are. {id} is a session, {request} a request, {schedule}, {webhook}, {target} and {agent} the
// name of one.
func Routes() []Route {
	const (
		get, post = http.MethodGet, http.MethodPost
		all, one  = "/v1/sessions", "/v1/sessions/{id}"
		request   = "/v1/requests/{request}"
		schedule  = "/v1/schedules/{schedule}"
		webhook   = "/v1/webhooks/{webhook}"
		target    = "/v1/targets/{target}"
		stored    = "/v1/stored-agents/{agent}"
		viewer    = troupe.RightViewer
		operator  = troupe.RightOperator
	)
	return []Route{
		route("list-sessions", get, all, "List sessions, the newest first: main agents, or the sub-agents of "+
			"one").in(viewer),
		route("find-session", get, one, "Find a session by what people call it").in(viewer),
		route("tree", get, one+"/tree", "All sessions of a session's tree, and who runs it").in(viewer),
		route("team", get, one+"/team", "The team that a session's main agent leads, and what each member is "+
			"at").in(viewer),
		route("events", get, one+"/events", "Read a session's log, page by page or as a stream").in(viewer),
		route("report", get, one+"/report", "What the whole tree of a session has come to").in(viewer),
		route("cost", get, one+"/cost", "The bill of a tree, agent by agent, and its limits").in(viewer),
		route("context", get, one+"/context", "What stands in a session's context, by where it comes from").in(viewer),
		route("session-tasks", get, one+"/tasks", "What is at work for a session and for all below it").in(viewer),
		route("tasks", get, "/v1/tasks", "What is at work in every live tree").in(viewer),
		route("begin", post, all, "Begin a tree in the process that answers, or go on with one "+
			"there").large().slow().in(operator),
		route("wait", post, one+"/wait", "Wait, for a while, until every session of a tree has ended").in(viewer),
		route("leave", post, one+"/leave", "Have the process that answers let go of a tree that is over").in(operator),
		route("remove", http.MethodDelete, one, "Forget a whole tree that no process has in hand").in(operator),
		route("change-session", post, one+"/change", "Rename a main agent, archive its tree, or take it out of the "+
			"archive").in(operator),
		route("send", post, one+"/messages", "Say something to a session: steer it, or have it go "+
			"on").large().slow().in(operator),
		route("stop", post, one+"/stop", "End a session's run; all of it can be resumed").in(operator),
		route("background", post, one+"/background", "Let a sub-agent go on in the background, so that its parent "+
			"does; of a main agent, every agent and command that it waits for").in(operator),
		route("compact", post, one+"/compact", "Have a session shorten its conversation").in(operator),
		route("sleep", post, one+"/sleep", "Put a session's tree away until a person wakes it").slow().in(operator),
		route("mode", post, one+"/mode", "Change the permission mode of a session's tree").in(operator),
		route("model", post, one+"/model", "Move a session to another model").in(operator),
		route("list-requests", get, "/v1/requests", "List the open requests").in(viewer),
		route("request", get, request, "Find an open request").in(viewer),
		route("answer", post, request+"/answer", "Answer a request").in(operator),
		route("plans", get, "/v1/plans", "The plans that sessions have written, or the text of one").in(viewer),
		route("untrusted", get, "/v1/trust", "What the files of a folder would allow and was not trusted yet"),
		route("trust", post, "/v1/trust", "Trust a folder with what was shown of it"),
		route("turns", get, one+"/turns", "What each turn of a tree has changed").in(viewer),
		route("plan-undo", get, one+"/undo", "What an undo would put back").in(viewer),
		route("undo", post, one+"/undo", "Put files back as a plan has shown it").in(operator),
		route("models", get, "/v1/models", "The models that could be used").in(viewer),
		route("default-model", get, "/v1/model", "The model that a new session would begin with").in(viewer),
		route("doctor", get, "/v1/doctor", "What a run in a folder would find on this machine").slow(),
		route("agents", post, "/v1/agents", "The types of agent that can be started, and their "+
			"files").in(viewer),
		route("agent", post, "/v1/agent", "What an agent of a type would be born with").in(viewer),
		route("hooks", post, "/v1/hooks", "The hooks that are set, and what they say to a made-up "+
			"event").large().slow(),
		route("status-line", post, "/v1/status-line", "What the status line of the settings says").slow(),
		route("plugins", post, "/v1/plugins", "The plugins that there are, and their files").large(),
		route("set-plugin", post, "/v1/plugins/change", "Enable, disable, add or remove a plugin"),
		route("servers", post, "/v1/servers", "The MCP servers that are written down").large().slow(),
		route("set-server", post, "/v1/servers/change", "Write an MCP server down, or take it out"),
		route("login", post, "/v1/servers/login", "Log in to an MCP server, or out").slow(),
		route("skills", post, "/v1/skills", "The skills and commands that can be used, and their "+
			"files").in(viewer),
		route("workflows", post, "/v1/workflows", "The workflows that can be run, and their files").in(viewer),
		route("memories", post, "/v1/memories", "What agents have kept for others of their type").in(operator),
		route("set-memory", post, "/v1/memories/change", "Change what agents have kept, or forget "+
			"it").large().in(troupe.RightAdmin),
		route("worktrees", post, "/v1/worktrees", "The folders that sessions have of their own").slow().in(viewer),
		route("diff-worktree", post, "/v1/worktrees/diff", "What was changed in one since its base").slow().in(viewer),
		route("merge-worktree", post, "/v1/worktrees/merge", "Bring the work in one to the folder that it is "+
			"from").slow().in(operator),
		route("push-worktree", post, "/v1/worktrees/push", "Push the work in one as a branch, to where its folder is "+
			"a checkout from").slow().in(operator),
		route("prune-worktrees", post, "/v1/worktrees/prune",
			"Remove those whose work is elsewhere").slow().in(operator),
		route("rules", post, "/v1/rules", "The rules that hold for a run").in(viewer),
		route("explain", post, "/v1/explain", "What the gate would answer to calls").in(viewer),
		route("me", get, "/v1/me", "Who calls, as the server knows them").in(viewer),
		route("hosted", get, "/v1/hosting", "Which processes run sessions, which sessions are kept going, and where "+
			"nothing is begun").in(viewer),
		route("acts", get, "/v1/acts", "Who did what, the newest first"),
		route("drain", post, "/v1/hosting/drain", "Have a process take on nothing any more, and end"),
		route("pause", post, "/v1/hosting/pause", "Have nothing begun in a folder, and nothing taken up"),
		route("users", get, "/v1/users", "Who may use the server"),
		route("set-user", post, "/v1/users/change", "Add a user, change one, or remove one; and invite them to log in"),
		route("tokens", get, "/v1/tokens", "The tokens that hold, without their secrets"),
		route("revoke", post, "/v1/tokens/revoke", "Have a token hold no more").in(viewer),
		route("schedules", get, "/v1/schedules", "What begins by itself").in(viewer),
		route("schedule", get, schedule, "One schedule").in(viewer),
		route("set-schedule", post, "/v1/schedules", "Make a schedule, or change one").in(operator),
		route("remove-schedule", http.MethodDelete, schedule, "Forget a schedule").in(operator),
		route("run-schedule", post, schedule+"/run", "Have a schedule begin a run now").in(operator),
		route("pause-schedule", post, schedule+"/pause", "Pause a schedule, or have it go on").in(operator),
		route("stored-agents", get, "/v1/stored-agents", "The agents whose definitions are kept here").by(viewer),
		route("stored-agent", get, stored, "One of them, in a version, with its text").by(viewer),
		route("set-stored-agent", post, "/v1/stored-agents", "Store an agent, or its next version").by(operator),
		route("remove-stored-agent", http.MethodDelete, stored, "Have a stored agent start nothing any "+
			"more").by(operator),
		route("webhooks", get, "/v1/webhooks", "What begins when something is delivered").in(viewer),
		route("webhook", get, webhook, "One webhook, with its newest deliveries").in(viewer),
		route("set-webhook", post, "/v1/webhooks", "Make a webhook, or change one").in(operator),
		route("remove-webhook", http.MethodDelete, webhook, "Forget a webhook").in(operator),
		route("pause-webhook", post, webhook+"/pause", "Have a webhook take no deliveries, or take them "+
			"again").in(operator),
		route(DeliverRoute, post, webhook+"/deliveries", "Deliver something to a webhook, signed with its "+
			"secret").open(),
		route("targets", get, "/v1/targets", "Who is told what happens"),
		route("target", get, target, "One target, with the newest notices that were given up"),
		route("set-target", post, "/v1/targets", "Make a target, or change one"),
		route("remove-target", http.MethodDelete, target, "Forget a target, with what was to be delivered to it"),
		route("test-target", post, target+"/test", "Post a notice of its own to a target, once").slow(),
		route("replay-target", post, target+"/replay", "Have notices that were given up be delivered anew"),
		route(SignInRoute, post, "/v1/sign-in", "Have a token for a login code, which is good once").open(),
	}
}

func route(id, method, path, summary string) Route {
	return Route{ID: id, Method: method, Path: path, Summary: summary, Needs: troupe.RightAdmin}
}

func (r Route) large() Route { r.Large = true; return r }

// by says which right it needs; one that no right was given is for admins.
func (r Route) by(needs troupe.Right) Route { r.Needs = needs; return r }

// in says which right it needs, in the project of what it is about.
func (r Route) in(needs troupe.Right) Route { r.Needs, r.InProject = needs, true; return r }

func (r Route) open() Route { r.Open = true; return r }

func (r Route) slow() Route { r.Slow = true; return r }

// RouteOf is the route with an id.
func RouteOf(id string) Route {
	for _, r := range Routes() {
		if r.ID == id {
			return r
		}
	}
	panic("there is no route " + id)
}

// CallerHeader says whom a process speaks for that shares the secret of the database; from others it counts for
// nothing.
const CallerHeader = "Troupe-Caller"

// Routes that need no token: who calls comes with a login code, or with a signature.
const (
	SignInRoute  = "sign-in"
	DeliverRoute = "deliver"
)

// MostCalls is about how many calls the gate is asked at once, at the most.
const MostCalls = 200

// OnlyRequest stands in a path for the one request that is open.
const OnlyRequest = "-"

// What is sent and answered over HTTP where a verb takes or returns less than a type of its own.
type (
	// Hint is what a summary should keep.
	Hint struct {
		Hint string `json:"hint,omitempty" doc:"What the summary should keep"`
	}
	// ModeChoice chooses a permission mode.
	ModeChoice struct {
		Mode string `json:"mode"`
	}
	// ModelChoice chooses a model; the answer has its full name.
	ModelChoice struct {
		Model string `json:"model"`
	}
	// Ended says whether every session of a tree has ended.
	Ended struct {
		Ended bool `json:"ended"`
	}
	// Left says whether a tree was let go of.
	Left struct {
		Left bool `json:"left"`
	}
	// Explain asks about calls at a place.
	Explain struct {
		Place Place  `json:"place"`
		Calls []Call `json:"calls"`
	}
)
