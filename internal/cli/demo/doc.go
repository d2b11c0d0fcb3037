// Package demo shows Troupe at work, offline and without a key: real agents, real tools and a
// real project with a real bug, and only the model's words come from a script.
package demo
