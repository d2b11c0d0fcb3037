package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLearned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	env := write(".env",
		"PORT=3000\nDEBUG=true\nexport "+
			"API_KEY=\"abc-123-def\"\nSECRET_TOKEN=LEAKME-7\nDATABASE_URL=postgres://u:hunter2-x@db/x\nNAME=produc"+
			"tion-7\n")
	key := write("id", "some words here\nzx81-spectrum-48\n")
	var l learned
	l.from([]string{env, key, filepath.Join(dir, "gone"), dir})
	l.from([]string{env})
	other := write("other", "TOKEN=saved-anew-99\n")
	if err := os.Rename(other, env); err != nil {
		t.Fatal(err)
	}
	l.from([]string{env})
	// A value that holds another is masked whole, whichever was learned first.
	l.from([]string{write("short", "ONE_KEY=held-by-more\n"), write("long", "TWO_KEY=held-by-more-than-it\n")})
	if got := l.mask("held-by-more-than-it"); got != "‹masked TWO_KEY›" {
		t.Errorf("the longer value is told as %s", got)
	}
	got := l.mask("3000 true abc-123-def LEAKME-7 hunter2-x production-7 zx81-spectrum-48 some words here " +
		"saved-anew-99")
	for _, secret := range []string{"abc-123-def", "LEAKME-7", "hunter2-x", "zx81", "saved-anew-99"} {
		if strings.Contains(got, secret) {
			t.Errorf("%s is told: %s", secret, got)
		}
	}
	for _, plain := range []string{"3000", "true", "production-7", "some words here", "‹masked API_KEY›"} {
		if !strings.Contains(got, plain) {
			t.Errorf("no %q in %s", plain, got)
		}
	}
}
