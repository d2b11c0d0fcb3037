// Package trust knows which folders the user has trusted, and what with: what a folder's own
// files would let agents do is read into lines for people and a hash of the exact bytes, and the
// answer holds for that hash alone. When the files change, it has to be asked again, and what
// changed can be shown. Nothing here runs anything, and nothing of a folder is believed: what a
// file cannot be seen to say, its hash still covers.
//
// A Store is a folder with a small file for each trusted folder. Any number of goroutines and
// processes may use one at the same time: a record is written to a file of its own and takes its
// name in one step, so what is read is whole, and of two that are written at once one counts.
// A record that is damaged is none.
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/disk"
)

// Record is what was trusted, once.
type Record struct {
	Folder string   `json:"folder"`
	Hash   string   `json:"hash"`
	Lines  []string `json:"lines"`
	// Files are the hashes of the files that the lines are of; nil in records of old.
	Files map[string]string `json:"files,omitempty"`
}

// Verdict is what the store says about a folder as it is now.
type Verdict struct {
	// Trusted: what Fingerprint.Hash stands for was trusted. A folder with nothing to trust is not.
	Trusted bool
	// Before: the folder was trusted with other contents, from which it differs by the lines in
	// Added and Gone; both may be empty, for bytes count that no line shows.
	Before bool
	Added  []string
	Gone   []string
	// Edited are lines of before whose files have other contents now, which none of their lines shows.
	Edited []string
}

// Store is the folders that were trusted.
type Store struct{ dir string }

// In is the store in a folder, which the first Grant makes if it is not there.
func In(dir string) *Store { return &Store{dir} }

// maxRecord is far more than the lines of a folder that anybody would read.
const maxRecord = 4 << 20

func (s *Store) name(folder string) string {
	sum := sha256.Sum256([]byte(folder))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".json")
}

// Check says whether a folder is trusted as it is. A worktree of a trusted repository is, if it
// has the same contents and the repository knows it as its own.
func (s *Store) Check(fp Fingerprint) (Verdict, error) {
	if fp.Hash == "" {
		return Verdict{}, nil
	}
	own, found, err := s.record(fp.Folder)
	if err != nil || fp.TooMuch != "" {
		return Verdict{Before: found}, err
	}
	if found && own.Hash == fp.Hash {
		return Verdict{Trusted: true}, nil
	}
	if main, ok := mainFolder(fp.Folder); ok {
		r, found, err := s.record(main)
		if err != nil {
			return Verdict{}, err
		}
		if found && r.Hash == fp.Hash {
			return Verdict{Trusted: true}, nil
		}
	}
	if !found {
		return Verdict{}, nil
	}
	lines := fp.Lines()
	out := Verdict{Before: true, Added: without(lines, own.Lines), Gone: without(own.Lines, lines)}
	out.Edited = edited(fp, own)
	return out, nil
}

// edited are the lines of files that have changed and whose lines all stand as they did.
func edited(fp Fingerprint, own Record) (out []string) {
	shown := map[string]bool{} // files whose lines say what has changed
	for _, i := range fp.Items {
		shown[i.File] = shown[i.File] || !slices.Contains(own.Lines, i.Line())
	}
	for _, i := range fp.Items {
		if was := own.Files[i.File]; was != "" && was != fp.Files[i.File] && !shown[i.File] {
			out = append(out, i.Line())
		}
	}
	return out
}

func without(lines, others []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(others, line) })
}

// Question is a folder that is not trusted as it is.
type Question struct {
	Fingerprint Fingerprint
	Verdict     Verdict
}

// Status is what the store says about all the folders that a session's settings come from.
type Status struct {
	// Trusted: there is something to trust, and all of it is. What the folders allow counts.
	Trusted bool
	// Questions are the folders to ask about; with none, and not Trusted, there is nothing to ask.
	Questions []Question
	Problems  []string
	// Granted are the folders that are trusted as they are, with the hash of what that is.
	Granted map[string]string
	// Seen are the files that were looked at, with the hash of each (hex SHA-256).
	Seen map[string]string
}

// Look judges folders together: what one of them allows counts only if all are trusted. read are
// the files that settings were read from, with the hash of what was read: one that has changed
// since means that nothing is trusted now, and the next start asks.
func (s *Store) Look(folders []Subject, read map[string]string) (Status, error) {
	out := Status{Seen: map[string]string{}, Granted: map[string]string{}}
	trusted, something := true, false
	unseen := make(map[string]bool, len(read))
	for name := range read {
		unseen[name] = true
	}
	for _, subject := range folders {
		fp, err := examine(subject)
		if err != nil {
			return Status{}, err
		}
		out.Problems = append(out.Problems, fp.Problems...)
		for name, hash := range fp.seen {
			out.Seen[filepath.Join(fp.Folder, filepath.FromSlash(name))] = hash
		}
		for name, hash := range read {
			if fp.Saw(name, hash) {
				delete(unseen, name)
			}
		}
		if fp.Hash == "" {
			continue
		}
		something = true
		v, err := s.Check(fp)
		if err != nil {
			return Status{}, err
		}
		if !v.Trusted {
			trusted = false
			out.Questions = append(out.Questions, Question{fp, v})
			continue
		}
		out.Granted[subject.Folder] = fp.Hash
	}
	out.Trusted = trusted && something && len(unseen) == 0
	return out, nil
}

// wideError says that a folder holds more than a project, so that trusting it takes more than a
// yes: somebody has to mean it.
type wideError struct{ Folder, Why string }

func (e *wideError) Error() string {
	return fmt.Sprintf("%s %s: what is put there by anybody else would be trusted with it", e.Folder, e.Why)
}

// Hint says what to do about it.
func (e *wideError) Hint() string {
	return "Trust it by starting Troupe in that very folder, if you mean it."
}

// tooMuchError says that a folder has more than a person could have been shown.
type tooMuchError struct{ Folder, Why string }

func (e *tooMuchError) Error() string {
	return fmt.Sprintf("%s cannot be trusted: %s", e.Folder, e.Why)
}

// Hint says what to do about it.
func (e *tooMuchError) Hint() string { return "Look at that file, and remove what is not needed." }

// Grant trusts a folder with what a person was shown. If the folder is changed in between, the
// hash that is kept is that of what was shown. explicit is for somebody who named the folder: a
// folder that is too wide is otherwise refused with a *wideError.
func (s *Store) Grant(fp Fingerprint, explicit bool) error {
	if fp.TooMuch != "" {
		return &tooMuchError{fp.Folder, fp.TooMuch}
	}
	if fp.Wide != "" && !explicit {
		return &wideError{fp.Folder, fp.Wide}
	}
	if fp.Hash == "" {
		return nil
	}
	data, err := json.MarshalIndent(Record{fp.Folder, fp.Hash, fp.Lines(), fp.Files}, "", "  ")
	if err != nil {
		return fmt.Errorf("trust %s: %w", fp.Folder, err)
	}
	if err := s.put(s.name(fp.Folder), data); err != nil {
		return fmt.Errorf("trust %s: %w", fp.Folder, err)
	}
	return nil
}

// List returns what was trusted, by folder.
func (s *Store) List() ([]Record, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the trusted folders: %w", err)
	}
	var out []Record
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if r, ok := s.read(filepath.Join(s.dir, e.Name())); ok && s.name(r.Folder) == filepath.Join(s.dir, e.Name()) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Record) int { return strings.Compare(a.Folder, b.Folder) })
	return out, nil
}

// record finds the record of a folder. One that is damaged, or speaks of another, is none.
func (s *Store) record(folder string) (Record, bool, error) {
	name := s.name(folder)
	if _, err := os.Lstat(name); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return Record{}, false, nil
		}
		return Record{}, false, fmt.Errorf("look up whether %s is trusted: %w", folder, err)
	}
	r, ok := s.read(name)
	return r, ok && r.Folder == folder, nil
}

func (s *Store) read(name string) (Record, bool) {
	data, err := disk.Read(name, maxRecord)
	var r Record
	if err != nil || json.Unmarshal(data, &r) != nil || r.Hash == "" {
		return Record{}, false
	}
	return r, true
}

// put writes a file whole or not at all. That the name survives a loss of power is not worth
// waiting for: at worst the question is asked again.
func (s *Store) put(name string, data []byte) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	return disk.Replace(name, data, 0o600)
}
