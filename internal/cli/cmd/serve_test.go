package cmd

import "testing"

// TestWithoutPassword: a password on the command line could be read by commands of agents.
func TestWithoutPassword(t *testing.T) {
	t.Parallel()
	for address, fine := range map[string]bool{
		"":                            true,
		"postgres://troupe@db/troupe": true,
		"postgres://db/passwords":     true,
		"host=db:5 user=troupe@here":  true,

		"postgres://troupe:p@db/troupe":          false,
		"postgres://troupe:@db/troupe":           false,
		"postgres://troupe:p%@db/troupe":         false,
		"postgres://troupe:p/x@db/troupe":        false,
		"postgres://db/troupe?user=x&password=p": false,
		"host=db password=p":                     false,
		"host=db password = p":                   false,
	} {
		if err := withoutPassword(address); (err == nil) != fine {
			t.Errorf("%s: %v", address, err)
		}
	}
}
