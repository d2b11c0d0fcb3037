package tool

// Previewer is a Prepared that can show exactly what it would do, for a person who is asked
// to allow it: a command as it is, a change as a diff. Without it the input is shown.
type Previewer interface {
	Preview(env Env) string
}
