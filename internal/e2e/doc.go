// Package e2e tests the program from outside: the real binary, built once, real processes
// with a home of their own, real signals, and as model either a script or a fake of the
// provider's API over real HTTP on loopback. It holds tests only.
//
// testdata/script has what a person would type, one matter per file; the commands that
// scripts have besides testscript's are described at TestScripts. Go tests stand where the
// model has to answer at one moment and not another, or the answer depends on what another
// agent does. Nothing here waits for a clock: a test waits for a line of output, a request
// at the server, a word in a named pipe or a change in a folder. The moments of
// TestKillAnywhere are drawn by lot; it prints its seed, and what it demands holds at any.
//
// Whatever a test is about, it ends with an audit of the tree as any program could read it
// (see audit): numbers without gaps, one result per call before the next model call, every
// child's end once in its parent's log, rows that add up to the bill. Every place is searched
// for processes that were left behind.
//
// What users of other tools suffered, and the test that it cannot happen here:
//
//	 3  a headless run hangs on a child's question   TestPain03HeadlessNeverWaits, permissions_children
//	 4  it ends as a success with children running   TestPain04EndsWithTheTree, interrupt
//	 7  agents start agents without end              TestPain07Runaway, agents_caps
//	 9  plan mode bypassed through a child           TestPermissionTable, permissions_children
//	12  orphan processes                             resume_kill, interrupt, tools_bash
//	15  a child's whole transcript in its parent     agents_results
//	17  nothing to resume after a crash              resume_kill, TestKillAnywhere, TestKillAtEdit
//	22  cost per agent unknown                       json_object, and the audit of every tree
//	27  parallel edits overwrite each other          TestPain27ParallelEdits, tools_order
//	30  invented success                             TestPain30InventedSuccess, agents_results
//	33  a model override half applied                TestPain33ModelOverride
//	36  history corrupt after an interrupt           TestPain36InterruptedHistory, and the audit
//	38  finished agents hold slots                   TestPain38FinishedAgentsHoldNoSlot
package e2e
