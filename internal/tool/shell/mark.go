package shell

// A mark is a number that every process of one command bears, wherever it goes: into a
// session of its own (setsid), to another parent (a double fork), with another environment.
// 0 is no mark.
type mark uint64

// kin is everything that a command started: its process group, and who bears its mark.
type kin struct {
	group int
	mark  mark
}
