//go:build !linux

package sqlite

import (
	"context"
	"errors"
)

func fill(context.Context, string) error {
	return errors.New("a small file system is made on Linux only")
}
