package shell_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sandbox"
	"github.com/troupe-dev/troupe/internal/tool/shell"
)

// BenchmarkConfined runs the same command unconfined, read-only and in the workspace in turn,
// so that what else the machine does falls on all alike, and reports medians.
func BenchmarkConfined(b *testing.B) {
	plain := newBench(b)
	box := sandbox.New(sandbox.Options{})
	if len(box.Levels()) == 0 {
		b.Skip("this kernel cannot confine commands")
	}
	plain.shell = shell.New(shell.Options{Confine: func(c troupe.Confinement, bin string, argv []string,
		attr *os.ProcAttr) (shell.Confined, error) {
		return box.Start(c, bin, argv, attr)
	}})
	b.Cleanup(func() { _ = plain.shell.Close() })
	hooks := plain.env.Cwd + "/.git/hooks"
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		b.Fatal(err)
	}
	temp := b.TempDir()
	// As most people have it: keys in the home, and a file of the project.
	home := b.TempDir()
	hidden := []string{home + "/.ssh", home + "/.aws", plain.env.Cwd + "/.env"}
	for _, dir := range hidden[:2] {
		if err := os.Mkdir(dir, 0o700); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.WriteFile(hidden[2], []byte("x"), 0o600); err != nil {
		b.Fatal(err)
	}
	ways := []struct {
		name    string
		confine *troupe.Confinement
	}{
		{"plain", nil},
		{"read-only", &troupe.Confinement{Level: troupe.LevelReadOnly, Temp: temp}},
		{"read-only+hidden", &troupe.Confinement{Level: troupe.LevelReadOnly, Temp: temp, Hidden: hidden}},
		{"workspace", &troupe.Confinement{Level: troupe.LevelWorkspace, Temp: temp, Writable: []string{plain.env.Cwd},
			Protected: []string{hooks, plain.env.Cwd + "/.mcp.json"}}},
	}
	took := map[string][]time.Duration{}
	for b.Loop() {
		for _, w := range ways {
			plain.env.Confine = w.confine
			began := time.Now()
			plain.run("cat /etc/hostname; ls /")
			took[w.name] = append(took[w.name], time.Since(began))
		}
	}
	for name, all := range took {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds()), name+"-µs")
	}
}
