package demo

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/tools/txtar"
)

//go:embed login.txtar
var loginProject []byte

// unpackProject writes the project with the bug into an empty folder.
func unpackProject(dir string) error {
	for _, f := range txtar.Parse(loginProject).Files {
		p := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return fmt.Errorf("unpack the demo's project: %w", err)
		}
		if err := os.WriteFile(p, f.Data, 0o644); err != nil {
			return fmt.Errorf("unpack the demo's project: %w", err)
		}
	}
	return nil
}
