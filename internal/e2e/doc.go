// Package e2e tests the program from outside: the real binary, built once, real processes
// with a home of their own, real signals, and as model either a script or a fake of the
// provider's API over real HTTP on loopback. It holds tests only.
//
// testdata/script has what a person would type, one matter per file; the commands that
// scripts have besides testscript's are described at TestScripts. Go tests stand where the
// model has to answer at one moment and not another, or the answer depends on what another
// agent does. Nothing here waits for a clock: a test waits for a line of output, a request
// at the server, a word in a named pipe or a change in a folder. The moments of
// TestKillAnywhere and TestKillBackground are drawn by lot; they print their seed, and what
// they demand holds at any.
//
// Whatever a test is about, it ends with an audit of the tree as any program could read it
// (see audit): numbers without gaps, one result per call before the next model call, every
// run of a child and every command in the background told once, no mail read twice, rows that
// add up to the bill. Every place is searched
// for processes that were left behind.
//
// What users of other tools suffered, and the test that it cannot happen here:
//
//	 1  a child's report lost, or empty              TestPain01ReportIsNeverLost, TestKillBackground
//	 2  background agents denied in silence          TestPain02BackgroundAsks, requests
//	 3  a headless run hangs on a child's question   TestPain03HeadlessNeverWaits, permissions_children
//	 4  it ends as a success with children running   TestPain04EndsWithTheTree, interrupt
//	 6  an agent leaves its folder                   TestPain06StaysInItsFolder
//	 7  agents start agents without end              TestPain07Runaway, agents_caps
//	 8  one 429 kills an agent, or a hundred storm   TestTenAtOnce, TestFaults, TestKeyExpires
//	 9  plan mode bypassed through a child           TestPain09PlanHoldsBelow, TestPermissionTable,
//	                                                permissions_children
//	10  declared tools or sandbox ignored            TestPain10DeclaredToolsHold, permissions_explain
//	11  waits without end                            TestPain11WaitsEnd; stalled streams: model/modeltest
//	12  orphan processes                             resume_kill, interrupt, tools_bash, TestLeftovers
//	13  a child's shell outlives it, or dies unsaid  TestPain13ShellsAreOwned, background
//	14  memory without bound                         TestPain14SlowReader, TestReaderGoesAway
//	15  a child's whole transcript in its parent     agents_results
//	16  a summary forgets running agents             TestPain16SummaryKnowsTasks, compact
//	17  nothing to resume after a crash              resume_kill, TestKillAnywhere, TestKillBackground,
//	                                                TestResumeBehindTheEnd
//	18  "completed" twice or too early               TestPain18StoppedAndFinished, TestKillBackground, background
//	20  one agent cannot be stopped, or not go on    TestPain20StopOneAndUndoIt, send
//	21  the child is not seen, its question blocks   TestPain21ChildIsSeen, requests, log_follow
//	22  cost per agent unknown                       json_object, and the audit of every tree
//	23  grants not inherited, the mode lost          TestPain23GrantsAreInherited, TestPermissionTable
//	24  a question without who asks, and why         requests, permissions_always, TestNothingOverpaints
//	26  approved without a person                    TestPain26AnswersAreOnRecord, permissions_always
//	27  parallel edits overwrite each other          TestPain27ParallelEdits, tools_order
//	30  invented success                             TestPain30InventedSuccess, agents_results
//	31  injection by forged tags                     TestPain31ForgedTags, TestPain30InventedSuccess
//	33  a model override half applied                TestPain33ModelOverride
//	36  history corrupt after an interrupt           TestPain36InterruptedHistory, and the audit
//	37  the parent polls, or is never woken          TestPain37CompletionWakes, background
//	38  finished agents hold slots                   TestPain38FinishedAgentsHoldNoSlot
//
// What agents have in folders of their own is tested beside the code, in workspace/worktree: 5 TestPains5, 27
// TestPains27, 28 TestPains28, 29 TestPains29. 6 is worktree_leaves.
//
// What must hold of authority has its cases in testdata/attacks: TestAttacksReadOnly,
// TestAttacksHostileRepo, TestAttacksLeak and TestBenign run them on this kernel, on what is left
// of it without parts (see kernels), and where only reading a command is left. TestScenarios
// asks the gate about situations from the public record. TestProtectedPlaces,
// TestCommandsAreAlone, TestWebFetchAddresses, TestTwoAskAtOnce, permissions_trust and
// permissions_explain show the parts.
//
// What was measured on four of those tools, beside one model server:
//
//	fifty ends cost fifty replies                    TestMeasuredFiftyEndTogether
//	an API error in a child "completed"              TestMeasuredErrorIsAnError
//	a resumed child lost tools and prefix            TestMeasuredSameToolsWhenResumed, and the server's prefix rule
//	workers shared 82 % of their bytes               TestFanOut
//	calls with effects out of order                  tools_order
//	the seventh agent was an error                   TestPain38FinishedAgentsHoldNoSlot, TestTenAtOnce
//	37 to 70 KB before the first word                TestPromptSizes
package e2e
