// Package postgres keeps the sessions of many processes in one PostgreSQL database.
//
// Ordering: the functions given to Update run one at a time per tree, in every process: each transaction first locks
// the row of its tree. In a process those that wait for one tree run one after the other in one transaction and are
// answered once that is committed; a tree has one connection at a time. Functions for different trees run beside each
// other on as many connections as the pool has. Statements whose answer nobody waits for go along with the next one
// that is waited for, or with the commit, and what is added to a tree's counts is written once for all of them.
//
// Ownership: a connection belongs to one goroutine at a time. A Tx or Reader is dead when its function returns.
//
// After a crash: a transaction is there as a whole or not at all. A connection that breaks before the commit has its
// functions run again; one that breaks during it has the database asked whether the transaction was made.
//
// Liveness: a process writes every second, on a connection of its own, that it lives. One that has not for three
// seconds by the clock of the database is dead, unless the database itself has just come up. A process that is only
// slow, or stopped inside of a transaction, holds its trees no longer than idleLimit, and can write nothing once
// another has taken them: every write is fenced.
//
// Watching: each process tells the others which trees have changed at most every 20 ms, outside of any transaction that
// appends. Who watches reads what has changed since what it has read, by numbers of transactions, and looks once a
// second even if nothing is told.
package postgres
