package tool

// Previewer is a Prepared that can show exactly what it would do, for a person who is asked
// to allow it: a command as it is, a change as a diff. Without it the input is shown. Futile says that
// the call would be refused as things stand, and the text why: nobody needs to be asked about it.
type Previewer interface {
	Preview(env Env) (text string, futile bool)
}
