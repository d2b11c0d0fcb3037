package table

import (
	"errors"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Undecodable is the error of a row whose content is not what we write.
type Undecodable struct{ Err error }

// Error implements error.
func (u *Undecodable) Error() string { return u.Err.Error() }

// Unwrap implements errors.Unwrap.
func (u *Undecodable) Unwrap() error { return u.Err }

// decodeEvent is troupe.DecodeBody. A kind that this version does not know was written by a newer one,
// unless it looks like a damaged name of one that it knows.
func decodeEvent(kind string, body []byte) (troupe.Body, error) {
	b, err := troupe.DecodeBody(troupe.Kind(kind), body)
	if err == nil || errors.Is(err, troupe.ErrNewer) && !isDamagedKind(kind) {
		return b, err
	}
	if errors.Is(err, troupe.ErrNewer) {
		err = fmt.Errorf("%q is no kind of event", kind)
	}
	return nil, &Undecodable{err}
}

// isDamagedKind: no version names a kind so that it differs from another in two letters or less, or with
// anything but small letters, a point and _.
func isDamagedKind(kind string) bool {
	for _, r := range kind {
		if r != '.' && r != '_' && (r < 'a' || r > 'z') {
			return true
		}
	}
	for _, k := range troupe.Kinds() {
		differ := 0
		for i := range min(len(k), len(kind)) {
			if k[i] != kind[i] {
				differ++
			}
		}
		if len(k) == len(kind) && differ <= 2 {
			return true
		}
	}
	return !strings.Contains(kind, ".")
}
