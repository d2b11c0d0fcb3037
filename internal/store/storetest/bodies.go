package storetest

import (
	"time"

	"github.com/troupe-dev/troupe"
)

// Bodies returns a body of every kind with every field set.
func Bodies() []troupe.Body {
	usage := troupe.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}
	tally := troupe.Tally{Usage: usage, Cost: 5, Turns: 6, ToolUses: 7}
	decision := troupe.Decision{
		Effect: troupe.Deny, Step: "deny rule", Rule: "Bash(rm -rf /)", Source: "settings.json",
		Why: "it is written there", Grant: "Bash(rm x)",
	}
	evidence := troupe.Evidence{
		Files: []troupe.FileTouch{{Path: "/a", Hash: "00ff", Wrote: true, Added: 1, Removed: 2}},
		Commands: []troupe.CommandRun{{
			Command: "go test ./...", ExitCode: 1, DurationMS: 12,
			Tests: &troupe.TestCount{Runner: "go test", Passed: 3, Failed: 1},
		}},
		Denied: []troupe.Denial{{Agent: "Auth Explorer", Tool: "Bash", Why: "a rule says so", Grant: "Bash(go test)"}},
	}
	outcome := troupe.Outcome{
		Session: "c", Run: 2, Coord: troupe.Coord{Reply: 3, Call: 4}, Name: "Auth Explorer", Type: "Explore",
		Status: troupe.Failed, Cause: troupe.CauseLimit, Result: "so far", Error: "too long",
		Evidence: evidence, Tally: tally, DurationMS: 77,
	}
	authority := troupe.Authority{
		Mode:     troupe.ModePlan,
		Rules:    []troupe.Rule{{Effect: troupe.Allow, Text: "Read(//etc/**)", Source: "--allowed-tools"}},
		Planning: &troupe.Planning{Before: troupe.ModeBypass, File: "/home/plans/p.md"},
	}
	blocks := []troupe.Block{
		troupe.Text("Grüße, 世界 \u2028 \"quoted\" \\ \t\n"),
		{Type: troupe.ImageBlock, Image: &troupe.Image{MediaType: "image/png", Data: []byte{0, 1, 254, 255}}},
		{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 1, Index: 2, Name: "Read", Input: `{"path": bro`,
			ProviderID: "call_0"}},
		{Type: troupe.ThinkingBlock, Text: "hm", Raw: `{"signature": "a<b>&c==",  "n":1.0}`, Provider: "anthropic"},
	}
	result := troupe.Result{Reply: 1, Call: 2, Blocks: []troupe.Block{troupe.Text("no such file")}, IsError: true}
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	settings := troupe.Settings{AskFor: time.Minute, Fallback: "script/other", Definitions: "d1",
		Policy: troupe.DefaultPolicy()}
	task := troupe.Task{
		ID: "b1.2", Kind: troupe.TaskShell, Name: "serve", Title: "a server", Coord: troupe.Coord{Reply: 1, Call: 2},
		Output:     "/out/b1.2.log",
		Background: true, Status: troupe.TaskKilled, StartedAt: at, EndedAt: at, End: 9,
	}
	body := troupe.RequestBody{
		Kind: troupe.RequestQuestion, Reason: troupe.WaitQuestion, Decision: decision, Tool: "Bash",
		Action: "rm -r ./x",
		Until:  at, With: []int{3}, Wants: []troupe.Attempt{{Op: troupe.OpWrite, Path: "/x"}}, Output: "half",
		Ran:   &troupe.CommandRun{Command: "make", ExitCode: 2, Sandbox: troupe.LevelGranted},
		Rules: []string{"Bash(ls)"},
		Questions: []troupe.Question{{Header: "Store", Text: "Which?", Multi: true, Default: "A", Named: true,
			Options: []troupe.Option{{Label: "A", Description: "a"}, {Label: "B"}}}},
	}
	you := troupe.Caller{Name: "ada", Right: troupe.RightOwner, Surface: troupe.SurfaceSocket, Process: 7}
	return []troupe.Body{
		troupe.Created{
			Parent: "p", Coord: troupe.Coord{Reply: 1, Call: 2}, Name: "n", Title: "t", Depth: 1, Cwd: "/w",
			Profile: troupe.Profile{
				Type: "Explore", Description: "looks", Source: "built-in", Prompt: "Look.",
				Tools: []string{"Glob", "Read"},
				Model: "script/small", Mode: troupe.ModeDefault,
				Limits: troupe.Limits{MaxTurns: 1, MaxTokens: 2, MaxCost: 3},
			},
			Authority: authority,
			Caps:      &troupe.Caps{MaxDepth: 1, MaxActive: 2, MaxTotal: 3, MaxTokens: 4, MaxCost: 5, MaxTurns: 6},
			Caller:    &you,
			Settings:  &settings,
		},
		troupe.Started{Run: 3, Caller: &you},
		troupe.Ended{Outcome: outcome, Cut: &troupe.Cut{Events: 3, Reply: 2, Tally: troupe.Tally{Usage: usage, Cost: 8},
			Agents: []troupe.Task{task}}},
		troupe.MailDelivered{Mail: []troupe.Mail{{
			ID: "m", Root: "r", To: "t", From: "f", Caller: &you, Kind: troupe.MailTaskEnded, SentAt: at,
			Blocks: blocks, Ended: &outcome,
			Stop: &troupe.Stop{Run: 1, Now: true, Tree: true, By: "ada"}, Rule: &authority.Rules[0], Model: "m",
			Quiet: true,
			Answer: &troupe.Answer{
				Request: "t.1.0", Coord: troupe.Coord{Reply: 1}, By: "ada", Effect: troupe.Deny, Note: "no",
				Rule: "Bash",
				Said: []troupe.Said{{Choices: []string{"the second"}, Text: "because"}},
			},
		}}},
		troupe.CallSealed{
			Reply: 1, Generation: 2, Model: "m", Encoder: "e1", Refs: []int64{1, 5}, Chain: "beef",
			Because: "the model changed",
			Compact: true, Reserved: troupe.Reservation{Tokens: 9, Cost: 10},
		},
		troupe.Replied{
			Reply: 1, Blocks: blocks, Stop: troupe.StopToolUse, Model: "m-1", Usage: usage, Cost: 8,
			Unpriced: true, RequestID: "req_1", DurationMS: 9, Doubt: "too many",
		},
		troupe.ModelFailed{
			Reply: 1, Attempt: 2, Fault: troupe.FaultRetry, Message: "overloaded", RetryAt: at, Partial: "I was",
			Usage: usage, Cost: 8,
		},
		troupe.ModelChanged{Model: "script/other", Why: "it is gone", Caller: &you},
		troupe.AuthorityChanged{Authority: authority, Caller: &you},
		troupe.ToolJudged{Reply: 1, Call: 2, Judgement: troupe.Judgement{By: "a hook", Effect: troupe.Ask,
			Why: "it is Friday", Input: "{}", Context: "the gap"}},
		troupe.ToolStarted{
			Reply: 1, Call: 2, Name: "Agent", Decision: decision, Child: "c", Task: &task,
			Wait: &troupe.Wait{Task: "c", Until: at}, Absent: true,
		},
		troupe.ToolFinished{
			Name: "Bash", Result: result, Evidence: evidence, DurationMS: 3, Denied: &decision, Interrupt: true,
			Outcome: &outcome, Mail: "m", Task: &task, Caller: &you,
		},
		troupe.RequestOpened{
			ID: "s.1.2", Reply: 1, Call: 2, RequestBody: body,
		},
		troupe.RequestAnswered{
			ID: "s.1.2", RequestKind: troupe.RequestQuestion, Reply: 1, Call: 2, By: "ada", Effect: troupe.Allow,
			Note: "once",
			Rule: "Bash(rm -r ./x)", Said: []troupe.Said{{Choices: []string{"the first"}, Text: "or none"}},
			Mode: troupe.ModeAcceptEdits, Mail: "m",
			Caller: &you, Auto: true, Input: `{"file_path":"safe"}`, Places: "1234",
		},
		troupe.Compacted{
			Generation: 3, Blocks: blocks, Covers: 41, Why: "the window is full", Model: "m-1", Usage: usage, Cost: 8,
			Unpriced: true, DurationMS: 9,
		},
		troupe.BudgetWarned{Limit: "tree cost", Text: "most of it"},
		troupe.SettingsChanged{Settings: settings, Caller: &you},
		troupe.BoardChanged{Items: []troupe.BoardItem{{ID: "2", Subject: "Run the tests", Description: "all <of> them",
			ActiveForm: "Running the tests", Status: troupe.BoardInProgress, Owner: "Bob", BlockedBy: []string{"1"}}}},
		troupe.TeamChanged{Team: &troupe.Team{Name: "login", Description: "mends the login"},
			Members: []troupe.Task{{ID: "s_2", Kind: troupe.TaskAgent, Name: "Bob", Background: true}}},
		troupe.Slept{Caller: &you}, troupe.Woke{Caller: &you},
		troupe.SessionChanged{Name: "fix-login", Title: "t", Archived: true, Unarchived: true, Caller: &you},
		troupe.Imported{Caller: &you, File: "e3b0c442", Version: "v1", Folder: "/there"},
		troupe.VerifyStarted{Reply: 3, Refused: "it changed no file"},
		troupe.VerifyEnded{Reply: 3, Outcome: troupe.Outcome{Session: "0123456789ab", Run: 1, Status: troupe.Completed},
			Mail: "end:0123456789ab:1"},
		troupe.HandoffAsked{Reply: 3, Model: "m", Reserved: troupe.Reservation{Tokens: 9, Cost: 10}},
		troupe.HandoffJudged{Reply: 3, Verdict: troupe.Verdict{Model: "m", Effect: troupe.Ask,
			Why:   "it claims too much",
			Usage: usage, Cost: 8, DurationMS: 4}},
		troupe.Queued{Behind: "0123456789ab", Why: "waits for main/A"},
		troupe.HookRan{
			Event: troupe.HookPreToolUse, Source: "/s.json", Type: "command", Name: "sh check.sh",
			Coord: &troupe.Coord{Reply: 1, Call: 2}, Run: 1, DurationMS: 3, Exit: 2, Effect: troupe.HookDenied,
			Why: "it is Friday", Said: "no", Message: "look", Mail: "m", Async: true, Usage: usage, Cost: 8,
		},
		troupe.AutoAsked{Reply: 1, Call: 2, Model: "m", Reserved: troupe.Reservation{Tokens: 9, Cost: 10}},
		troupe.AutoJudged{Reply: 1, Call: 2, Verdict: troupe.Verdict{Model: "m", Effect: troupe.Ask, Why: "it pushes",
			Failed: true, Usage: usage, Cost: 8, Unpriced: true, DurationMS: 9}},
		troupe.WorkspaceReady{Base: troupe.WorkspaceBase{Head: "1f", Branch: "main", Commit: "2e", Dirty: 3,
			Left: []string{".env: it is hidden"}, Linked: []string{"node_modules"}}},
		troupe.WorkspaceSaved{Checkpoint: troupe.Checkpoint{Tree: "4b", Tip: "5a", Files: 6}, Problem: "no objects"},
		troupe.WorkspaceChanged{Workspace: troupe.Workspace{Kind: troupe.WorkspaceTree, Owner: "o", Name: "n",
			From: "/f",
			Of:   "/f", Top: "/t", Folder: "/t", Branch: "troupe/n", Merge: troupe.MergeAuto, Remote: "https://h/x",
			Push: true, PullRequest: true},
			Result: &troupe.WorkspaceResult{Kind: "worktree",
				Name: "m", Folder: "/m", Base: "1", Tip: "2", Commits: 3, Conflicts: []string{"a"}, Gone: true,
				MergedBack: troupe.MergedBack{Into: "/f", Merged: []string{"b"}, Left: []string{"v: a submodule"},
					NotMerged: "it conflicts"},
				Pushing: troupe.Pushing{Remote: "https://h/x", Pushed: &troupe.Pushed{To: "https://h/x",
					Branch: "troupe/n", Commit: "3", PullRequest: "https://h/x/1", NotOpened: "no leave"},
					NotPushed: "no key"}}},
		troupe.WorkspaceMerged{Into: "/f", Files: []troupe.FileTouch{
			{Path: "/f/b", Hash: "1", Wrote: true, Before: "2"}}},
	}
}
