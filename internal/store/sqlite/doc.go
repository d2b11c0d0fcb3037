// Package sqlite keeps a Troupe home in one SQLite file.
//
// Ordering: a Store has one connection that writes, and one goroutine that uses it. The
// goroutine runs the functions given to Update one after the other, in the order they
// were queued, and commits all that were waiting in one transaction (group commit): each
// is answered only when its writes are on the disk. A function that fails without having
// written is answered with the others; one that fails after it wrote costs a rollback, and
// the rest of its group run again without it. Processes that share a home take turns by
// SQLite's write lock. View uses a few connections of its own, each function on one
// snapshot, and never waits for a writer.
//
// Ownership: a connection, its statements and its buffers belong to one goroutine at a
// time. A Tx or Reader is dead when its function returns.
//
// Backpressure: the queue of Update is bounded; when it is full, callers wait. A context
// that ends while its function waits in the queue takes it out; once the function runs, the
// outcome is waited for, since only the database knows it.
//
// Shutdown: Close refuses what comes after it, lets everything already queued finish, waits
// for running Views, and closes the file.
//
// After a crash: SQLite replays its write-ahead log when the file is next opened; a group
// is there as a whole or not at all. The owner that crashed is dead at once, because the
// kernel lets go of its lock.
package sqlite
