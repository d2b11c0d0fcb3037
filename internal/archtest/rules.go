package archtest

import "slices"

// allowance is what may be over budget. Each entry of a map has its reason; one that is not
// needed any more is a finding too.
type allowance struct {
	types   map[string]string // structs and interfaces
	methods map[string]string // types
	// promoted are types that are over budget only with what they embed.
	promoted map[string]string
	exports  map[string]string // names that no other package uses
	// productLines is the ceiling of the product's lines of code.
	productLines int
	// wideLines is how many lines may be too wide.
	wideLines int
}

func granted() allowance {
	return allowance{
		types: excused(),
		// Nothing is over these budgets, and what comes to be is split, or names the field that it embeds.
		exports: exported(),
		// A program is read more often than it is extended. ADR 0015 moved the walls in no more
		// lines than stood before it (59,981). What is above that buys the mending of what trying
		// it brought up: see "2 of 7" in docs/promises.md. Raise it only in the change that needs
		// it, and say here what the lines buy: 3,000 of them a conversation that shows what is at work
		// and what came of it, 1,000 OpenAI's Responses API, 400 that a yes gives what its question showed,
		// 250 background commands in hand in the conversation, 300 that what is granted keeps its place, 800 tables,
		// followed commands and what a command waits for in the conversation, 500 that a session goes on of which a
		// repair lost the end, 700 limits and faults that are named and bounded, 100 that ends, answers and
		// reasons are told of what they are about, 500 that a yes is for operations, 1,400 agents defined in every
		// place and in whatever form, what each comes to, and instructions, 500 limits, taken trees and damaged logs
		// that are told, 150 that no command gives a person's rebase what runs, 3,000 hooks, 3,000 skills, commands and
		// output styles, 4,500 MCP servers, 2,600 what servers get later, ask and prompt, and `troupe mcp serve`,
		// 1,000 a model that judges in mode auto, 2,500 plugins, 1,500 memory, styles, contexts by their parts and
		// definitions that change, 150 that hooks leave nothing and are all logged,
		// 250 that what a server says unasked is bounded, 250 effort,
		// 250 output styles of projects, plugins and definitions,
		// 1,400 definitions that are read once, and from an index,
		// 1,150 logins at MCP servers, 400 a skill's paths, hooks, model and effort,
		// 800 that a newcomer is told what is not followed, and by the words that they know,
		// 350 a status line that is a hook in all but what becomes of its output,
		// 900 forks, and first calls that follow one that begins alike.
		// 450 that a project's files choose neither what is masked nor what runs by a folder's name.
		// 4,950 folders of their own for agents, of which no work is lost.
		// 1,100 a hook's if and where it may go, files that a person brings in, hooks after intents, a login's lock,
		// lines that are no messages, lists at narrow terminals, troupe docs.
		// 1,900 merging what agents did there, conflicts that are handed back, commits on a branch.
		// 1,300 that people see those folders, what is in them and what came of them, and merge and remove them.
		// 650 merging what agents did at their ends, taking a side, undoing merges.
		// 1,000 merges that are undone alone with links and modes, hand-backs that end, rules that name the project,
		// worktrees in the conversation.
		// 9,000 working together: teams with plans, roles and deadlines, results that are checked, workflows, monitors,
		// agents that are put away and carried.
		// 1,500 panes that show members of a team, and `troupe attach`.
		// 1,000 monitors, and workflows that agents start. 500 merges that take turns, and work that is brought later.
		// 2,500 sessions that are put away, and carried to another home. 300 what strangers found in these.
		// 1,700 a second dialect of the store, which keeps sessions in PostgreSQL.
		// 3,600 a server with users, rights and tokens, which keeps what was begun there going.
		// 1,500 lists by anything, and what an admin of a server sees, drains and pauses.
		// 1,500 schedules. 800 the words of 002 for agents of one's own, and what is told of them.
		// 700 what an attacker and a newcomer found at the server.
		// 1,000 repositories that are checked out, and work that is pushed. 1,300 webhooks. 450 that one project of a
		// server sees nothing of another. 700 metrics and logs. 900 what strangers found at the server.
		// 400 pull requests, and bounds of hostile remotes. 1,700 programs elsewhere that are told what happens.
		// 800 agents that are stored. 200 what a fuzz of the api found, 400 what commands of one project saw of
		// another, and 200 runs that go in a circle, and what a newcomer and a reader found.
		// 600 rights by project. 700 names, archives and preconditions of changes. 550 tools that a client carries out.
		// 100 what a torture of servers and workers found.
		productLines: 152_000,
		wideLines:    0,
	}
}

// rules lists all that must hold, over the given map, libraries and allowances.
func rules(rooms []room, libs []library, a allowance) []rule {
	return slices.Concat(
		[]rule{
			{
				name: "every package has a room", check: mapped(rooms),
				why: "a package outside the map follows no rule",
			},
			{
				name: "imports run downward", check: downward(rooms),
				why: "a floor that is known from below cannot be changed, replaced or tested alone",
			},
			{
				name: "test helpers stay in tests", check: testOnly,
				why: "what helps tests is neither small nor safe, and users would carry it",
			},
			{
				name: "the standard library in its place", check: standardBans,
				why: "what a package may touch is decided by what it can import",
			},
			{
				name: "no unused exports", check: unusedExports(a.exports),
				why: "what is exported is kept for others; if there are none, it is kept for nothing, and what only " +
					"tests call is tested for nothing",
			},
			{
				name: "every library has a home", check: libraryHomes(libs),
				why: "a library used everywhere can never be replaced, and its types become ours",
			},
		},
		sourceRules(),
		sizeRules(a),
		textRules(),
	)
}
