package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// maxSchema is more than a schema may have: what is wrong with one is for the use case to say.
const maxSchema = 1 << 20

// readSchema reads the file that --output-schema names; nil without one.
func readSchema(b wire.Begin, file string) (json.RawMessage, error) {
	switch {
	case file == "":
		return nil, nil
	case b.Resume != "" || b.Continue:
		return nil, console.Usage("--output-schema is for a new session: one that goes on keeps what it was born with")
	}
	fail := func(err error) error {
		if perr, ok := errors.AsType[*fs.PathError](err); ok {
			err = perr.Err
		}
		return &troupe.UserError{Problem: fmt.Sprintf("the schema %s cannot be read: %v", file, err),
			Hint: "--output-schema names a file with a JSON schema.", Code: troupe.ExitUsage, Err: err}
	}
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		return nil, fail(err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxSchema))
	if err != nil {
		return nil, fail(err)
	}
	if !json.Valid(text) {
		return nil, fail(errors.New("it holds no JSON"))
	}
	return text, nil
}
