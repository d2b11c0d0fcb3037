// Package carry is the file in which a session goes to another home, and how its logs are made anew of it there: ADR
// 0058.
//
// What a file says is read as if an enemy had written it. A part of it is known by its name, its size and its hash, and
// lands under a name of ours. Of an event what stands in a table comes (see carried), and nothing else.
package carry
