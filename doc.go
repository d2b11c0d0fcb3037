// Package troupe is the vocabulary of Troupe: the words every other package speaks.
//
// It holds plain values and the rules that belong to them alone: ids, sessions and their
// status machine, events, messages, tool calls, mail, requests, money. It imports only the
// standard library, does no I/O and starts nothing. Floors above it are listed in
// ARCHITECTURE.md; internal/archtest keeps them honest.
package troupe
