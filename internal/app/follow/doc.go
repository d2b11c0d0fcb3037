// Package follow brings what happens in trees to those who follow them: committed events, and
// pieces of replies on their way, as one stream for each follower.
//
// Ordering: a follower returns each session's events in the order of its log, none twice, none
// left out. A delta comes in a batch with, or after, the event that its call began with, and never
// after a batch that held the end of its reply. Between sessions there is no order.
//
// A commit in a tree costs its own followers something and no others: it leaves them its events and
// wakes them. So what this process has written is not read and decoded again. A slow reader holds up
// neither agents nor other followers: what is kept for it are ids, a bounded number of bytes of events
// and a bounded number of deltas. Events that do not fit, and those of other processes, it reads from
// the store itself, by its own cursors; a delta that does not fit is dropped, for the event that ends
// the reply holds all of it. Nothing is kept of a tree that is not followed.
//
// Ownership: a Follower is read by one goroutine and has none of its own. While trees are followed
// that other processes run, the Broker has one goroutine for all of them, which watches the store
// or, if that cannot tell of commits, looks at each tree every 200 ms. It ends with the last such
// follower, and Close waits for it. Commit and Delta do not block.
package follow
