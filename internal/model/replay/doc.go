// Package replay is the recording of a tree of agents, as a file, and a provider that plays
// it: one stands in for every model, answers each call as it was answered, and says where
// what it is sent is not what was sent then. docs/recording.md is its manual.
//
// # The file
//
// A recording is UTF-8 text, one JSON object a line. The first line is the Header; the last
// is {"end":{…}}, so that a file that was cut off is noticed. Each line between has one key:
//
//	{"agent":{…}}  an agent was born: its path, system prompt and tools
//	{"call":{…}}   a model call: the messages it sent for the first time, and its reply or fault
//	{"tool":{…}}   a tool call and its result
//	{"mail":{…}}   what a person sent to an agent that was already at work
//
// Messages and blocks have the form they have in the log (troupe.Message). Fields and keys
// that a reader does not know are ignored; a format version it does not know is an error.
//
// # The player
//
// A call is found by its agent's path, the number of the reply it asks for, and how often
// that was asked for before: never by when it is made. Agents may therefore work in any
// order; Order has each wait for the mail it had, and no other. All methods of a Player are safe for concurrent use; it
// starts no goroutines. Two
// of its methods wait until their context ends: Stream, where the agent was stopped when it
// was recorded, for the stop to come again, and Serve, for the same with a command. Whoever
// replays watches Over and Broken, so that nobody waits for a stop that nobody sends.
package replay
