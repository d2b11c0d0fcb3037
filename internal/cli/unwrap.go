package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// unwrapHelp joins the lines of each paragraph in what is told of the commands: the help breaks them again, by the
// width that there is.
func unwrapHelp(cmd *cobra.Command) {
	cmd.Long = unwrap(cmd.Long)
	for _, c := range cmd.Commands() {
		unwrapHelp(c)
	}
}

// unwrap leaves alone what is indented: lists and examples.
func unwrap(text string) string {
	var b strings.Builder
	before := "" // the line before
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case b.Len() == 0:
		case before == "" || line == "" || strings.HasPrefix(line, " ") || strings.HasPrefix(before, " ") ||
			strings.HasPrefix(line, "- "):
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(line)
		before = line
	}
	return b.String()
}
