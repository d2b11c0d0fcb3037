// Package httpd serves the use cases as HTTP: JSON under /v1, described by OpenAPI, and a
// log's events as a stream that can be resumed. It decides nothing; what a call means is the
// business of the use cases it is given.
//
// A Server listens on one unix socket and belongs to whoever called Serve, who must Close it
// before the use cases go away. Close ends the streams, lets requests under way finish (or
// cancels them when its context is done), and returns when no goroutine is left.
//
// Order: requests run side by side and in no order, as calls of the use cases do. The events
// of one session come in the order of their numbers, each once per stream.
//
// Backpressure: bodies, headers and pages are bounded. A stream reads the log by its own
// cursors, as fast as its reader does; nothing is queued for a slow one, and one that takes
// nothing for writeWait is let go and can resume where it was.
//
// Who may call is settled when a connection is made; see Peers.
package httpd
