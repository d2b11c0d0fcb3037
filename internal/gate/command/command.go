// Package command reads shell commands without running them: what commands a line is made of,
// and what the programs in it do, by one table (programs.go and, for git's own commands, git.go).
// Whether a command only reads is asked where no kernel can confine it, and of what stands beside
// a command that a rule allows; what else it may start, where a rule forbids commands by name.
//
// It errs on one side. What it does not know, cannot parse, or could be read in two ways is
// Unclear, and a command that has anything unclear in it is never called read-only. It is
// pure: it looks at no file, so what a name on disk really is has to be asked elsewhere.
package command

// Command is a shell command, taken apart.
type Command struct {
	// Parts are all simple commands in it that could run, wherever they stand (pipes, lists,
	// subshells, substitutions, functions, conditions), in the order they are written.
	Parts []Part
	// Unclear says what cannot be known before it runs, a phrase each: "its first word is
	// only known when it runs". A command with anything unclear may do more than its parts.
	Unclear []string
	// Redirected: a descriptor in it may be a file.
	Redirected bool

	functions []string        // that it defines
	uses      []string        // variables that it reads
	sets      []string        // variables that it sets in other ways than by assignments
	strings   []Word          // texts that it feeds to commands (<<<)
	counters  []string        // variables that it sets to what it calculates
	numbers   map[string]bool // variables that hold nothing but numbers
}

// Part is one simple command.
type Part struct {
	// Text is the command as written, from its first word after wrappers to its last, without
	// assignments and redirects. Whole is the same with the wrappers.
	Text, Whole string
	// Words are the command and its arguments, after wrappers were looked through. They are
	// empty for a part that only assigns or redirects.
	Words []Word
	// Wrappers are the commands that only run another one (timeout, nice, nohup, …), the
	// outermost first. Behind xargs, Words ends with a word that is not known: it adds more.
	Wrappers []string
	// Taken are the words that those took for themselves.
	Taken []Word
	// Via is the command that runs this part because its own arguments say so ("find" for
	// -exec, "sudo", "bash" for -c), and is a part itself. A rule that denies
	// should see it; one that allows the command that runs it has allowed it too.
	Via string
	// Assigns are the variables set in front of it, or by it if it is nothing else.
	Assigns []Assign
	// Redirects are its own, and those of whatever it stands in.
	Redirects []Redirect
	// Moved: it may run in another folder than the one the whole command began in.
	Moved bool

	cleared bool // a wrapper takes variables out of the environment
}

// Word is one word as the shell will pass it, as far as that is known.
type Word struct {
	Text string // without quotes if Known; else as written
	// Known: Text is exactly what is passed. A word with a variable, a substitution or a
	// pattern is not known.
	Known bool
	// Pattern: it is a pattern of file names, and becomes those that are there.
	Pattern bool

	source string // as written, if Text is not
	pieces []piece
}

// Assign is one assignment.
type Assign struct {
	Name   string
	Value  Word
	Append bool // to what the variable holds
}

// Redirect is one redirect to or from a file. Those between descriptors are left out.
type Redirect struct {
	Path  Word
	Write bool // else it is only read from
}
