// Package chat is the plain conversation: a person types at a prompt while a team of agents
// works above it (Run), or a program drives the same over lines of JSON (Drive).
//
// One goroutine runs the conversation: it alone decides, draws and writes. It is fed by the
// editor's goroutines (keys), by one that follows the tree's events, and by one that waits
// for its end when somebody quits that way; all of them have ended when Run or Drive
// returns. Ordering: a session's events are shown in the order of its log, and pieces of
// replies before the event that makes them whole. Backpressure: a slow terminal holds up the
// reading of events, which are read from the store and lose nothing; pieces of replies may
// be dropped by whoever sends them. Shutdown: nothing of a conversation lives here. Leaving
// at any moment loses what is being typed and no more.
package chat
