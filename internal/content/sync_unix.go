//go:build unix

package content

import (
	"errors"
	"os"
)

// syncDir makes the names in a folder survive a loss of power.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
