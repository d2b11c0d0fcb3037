package carry

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// Format is the version of the form of a file.
const Format = 1

// Manifest is the first part of a file: what all others are.
type Manifest struct {
	Format int    `json:"format"`
	Troupe string `json:"troupe"` // the version that wrote it
	// Events is how many kinds of event that version knows.
	Events int              `json:"events"`
	Root   troupe.SessionID `json:"root"`
	Name   string           `json:"name,omitempty"`
	Folder string           `json:"folder"`
	At     time.Time        `json:"at"`
	// Sessions are in the order of their birth.
	Sessions []troupe.SessionID `json:"sessions"`
	Parts    map[string]Part    `json:"parts"`
	// Sum is the hash of the file as it was read.
	Sum string `json:"-"`
}

// Part is what the manifest says of another part.
type Part struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// What a file may have at most.
const (
	mostManifest = 16 << 20
	mostParts    = 50_000
	mostPart     = 8 << 30
	mostText     = 256 << 20 // of what is read whole, all of it
	mostLine     = 32 << 20  // of an event, or a message
	mostValues   = 500_000   // in one of them
	mostAll      = 32 << 30
	mostRatio    = 200 // bytes for each one of the file, once there are many
	freeRatio    = 64 << 20
	mostSessions = 10_000
	mostEvents   = 1_000_000
)

const manifestName = "manifest.json"

// Names of parts begin so.
const (
	Logs    = "logs/"       // ID.jsonl
	Outputs = "outputs/"    // ID/FILE
	Plans   = "plans/"      // ID.md
	Pads    = "scratchpad/" // PATH
	Folders = "folders/"    // ID.json, and ID.pack with the objects
	Mail    = "mail.jsonl"
)

// LogPart is the part with the log of a session.
func LogPart(id troupe.SessionID) string { return Logs + string(id) + ".jsonl" }

// PlanPart is the one with its plan.
func PlanPart(id troupe.SessionID) string { return Plans + string(id) + ".md" }

// partName is what a part may be called: whose it is, or the path of a file that agents share.
func partName() *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(`^(?:mail\.jsonl|logs/(ID)\.jsonl|plans/(ID)\.md|folders/ID\.(?:json|`+
		`pack)|outputs/(ID)/[A-Za-z0-9_-][A-Za-z0-9._-]{0,200}|scratchpad/([^\\:\x00]{1,1000}))$`, "ID",
		"[0-9a-hjkmnp-tv-z]{12}"))
}

func refuse(why string) error {
	return &troupe.UserError{Problem: "the file cannot be imported: " + why, Code: troupe.ExitUsage,
		Hint: "Nothing was changed. `troupe export` writes it anew where it comes from."}
}

func newer(why string) error {
	return &troupe.UserError{Problem: "the file cannot be imported: a newer version of troupe wrote it (" + why + ")",
		Hint: "Nothing was changed. Install that version here first.", Code: troupe.ExitUsage, Err: troupe.ErrNewer}
}

// Stage is a folder with the parts of a file, under names of ours.
type Stage struct {
	Manifest
	dir   string
	files map[string]string // by the names of the parts
	order []string          // of the parts
	names *regexp.Regexp
	// events counts those that were read of all logs.
	events int
}

// NewStage begins with an empty folder.
func NewStage(dir string) *Stage {
	return &Stage{dir: dir, names: partName(), files: map[string]string{}, Manifest: Manifest{Parts: map[string]Part{}}}
}

// Put writes a part.
func (s *Stage) Put(name string, write func(io.Writer) error) (err error) {
	if _, twice := s.files[name]; twice || !s.Good(name) {
		return fmt.Errorf("%q is no name for a part", name)
	}
	file := filepath.Join(s.dir, "part-"+strconv.Itoa(len(s.files)))
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	n := counter{w: io.MultiWriter(f, sum)}
	if err = errors.Join(write(&n), f.Close()); err != nil {
		return err
	}
	s.files[name], s.order = file, append(s.order, name)
	s.Parts[name] = Part{SHA256: hex.EncodeToString(sum.Sum(nil)), Bytes: n.n}
	return nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// Has reports whether there is a part.
func (s *Stage) Has(name string) bool { _, ok := s.files[name]; return ok }

// Below are the parts whose names begin so, by what stands behind that.
func (s *Stage) Below(folder string) map[string]string {
	out := map[string]string{}
	for name := range s.files {
		if rest, ok := strings.CutPrefix(name, folder); ok {
			out[rest] = name
		}
	}
	return out
}

// Log reads the log of a session.
func (s *Stage) Log(id troupe.SessionID) ([]Line, error) {
	var out []Line
	err := s.each(LogPart(id), func(data []byte) error {
		var l Line
		err := json.Unmarshal(data, &l)
		out = append(out, l)
		if s.events++; s.events > mostEvents {
			return refuse(fmt.Sprintf("it has more than %d events", mostEvents))
		}
		return err
	})
	return out, err
}

// Mail reads the mail that waits.
func (s *Stage) Waiting() (out []json.RawMessage, err error) {
	if !s.Has(Mail) {
		return nil, nil
	}
	err = s.each(Mail, func(data []byte) error {
		out = append(out, bytes.Clone(data))
		return nil
	})
	return out, err
}

// each reads the lines of a part. What a line would be in memory is bounded before it is taken apart.
func (s *Stage) each(name string, read func(line []byte) error) error {
	f, err := s.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read from
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, mostLine)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if n := values(lines.Bytes()); n > mostValues {
			return refuse(fmt.Sprintf("a line of %s has %d values, and %d are the most", name, n, mostValues))
		}
		if err := read(lines.Bytes()); err != nil {
			if user, ok := errors.AsType[*troupe.UserError](err); ok {
				return user
			}
			return refuse(name + " cannot be read: " + err.Error())
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return refuse(fmt.Sprintf("it is too large: a line of %s has more than %d MB", name, mostLine>>20))
	} else if err != nil {
		return refuse(name + " cannot be read: " + err.Error())
	}
	return nil
}

// values is how many values a text of JSON has, at the least.
func values(data []byte) (n int) {
	quoted := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '{' || c == '[' || c == ','):
			n++
		}
	}
	return n
}

// Open opens a part.
func (s *Stage) Open(name string) (*os.File, error) {
	file, ok := s.files[name]
	if !ok {
		return nil, refuse("it has no " + name)
	}
	return os.Open(file)
}

// Write writes the file.
func (s *Stage) Write(w io.Writer) (err error) {
	packed := counter{w: w}
	z := gzip.NewWriter(&packed)
	plain := counter{w: z}
	t := tar.NewWriter(&plain)
	s.Format, s.Events = Format, len(troupe.Kinds())
	if err := s.check(); err != nil {
		return unreadable(err)
	}
	head, err := json.MarshalIndent(s.Manifest, "", "\t")
	if err != nil {
		return err
	}
	put := func(name string, size int64, from io.Reader) error {
		err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: s.At})
		if err == nil {
			_, err = io.Copy(t, from)
		}
		return err
	}
	if err := put(manifestName, int64(len(head)), bytes.NewReader(head)); err != nil {
		return err
	}
	for _, name := range s.order {
		f, err := s.Open(name)
		if err == nil {
			err = errors.Join(put(name, s.Parts[name].Bytes, f), f.Close())
		}
		if err != nil {
			return err
		}
	}
	err = errors.Join(t.Close(), z.Close())
	if err == nil && plain.n > freeRatio && plain.n > mostRatio*packed.n {
		err = unreadable(tooDense(packed.n, plain.n))
	}
	return err
}

// unreadable is the error of a file that is not written, for it would not be read.
func unreadable(err error) error {
	if user, ok := errors.AsType[*troupe.UserError](err); ok {
		return errors.New(user.Problem)
	}
	return err
}

func tooDense(packed, plain int64) error {
	return refuse(fmt.Sprintf("it is too large: %d bytes of it hold %d", packed, plain))
}

// Read takes a file apart into an empty folder.
func Read(from io.Reader, dir string) (*Stage, error) {
	whole := &hashed{r: from, sum: sha256.New()}
	packed := bufio.NewReader(whole) // of which no more is taken than is of the file
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, refuse("it is none that `troupe export` has written")
	}
	z.Multistream(false)
	open := &opened{r: z, from: whole}
	t := tar.NewReader(open)
	s := NewStage(dir)
	if err := s.readManifest(t); err != nil {
		return nil, err
	}
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, cut(err)
		}
		if err := s.take(h, t); err != nil {
			return nil, err
		}
	}
	for name := range s.Parts {
		if !s.Has(name) {
			return nil, refuse("its part " + name + " is missing")
		}
	}
	if _, err := io.Copy(io.Discard, open); err != nil { // the sum of gzip stands at the end
		return nil, cut(err)
	}
	if n, err := io.Copy(io.Discard, packed); err != nil || n > 0 {
		return nil, refuse("something stands behind its end")
	}
	s.Sum = hex.EncodeToString(whole.sum.Sum(nil))
	return s, nil
}

func cut(err error) error {
	if user, ok := errors.AsType[*troupe.UserError](err); ok {
		return user
	}
	return refuse("it is cut off or damaged: " + err.Error())
}

// readManifest reads the first part.
func (s *Stage) readManifest(t *tar.Reader) error {
	h, err := t.Next()
	if err != nil {
		return cut(err)
	}
	if h.Name != manifestName || h.Typeflag != tar.TypeReg || h.Size > mostManifest {
		return refuse("it does not begin with what it holds")
	}
	data, err := io.ReadAll(io.LimitReader(t, mostManifest))
	if err != nil {
		return cut(err)
	}
	if err := json.Unmarshal(data, &s.Manifest); err != nil {
		return refuse("what it says of itself cannot be read: " + err.Error())
	}
	if s.Format > Format {
		return newer(fmt.Sprintf("its form is %d, and this troupe knows %d", s.Format, Format))
	}
	return s.check()
}

// check looks at what the manifest says. A file is written only if it would be read.
func (s *Stage) check() error {
	switch {
	case s.Format < 1:
		return refuse("it is none that `troupe export` has written")
	case len(s.Sessions) == 0 || len(s.Sessions) > mostSessions || s.Sessions[0] != s.Root:
		return refuse(fmt.Sprintf("it has %d sessions, and the first has to be %.20q", len(s.Sessions), s.Root))
	case len(s.Parts) > mostParts:
		return refuse(fmt.Sprintf("it has %d parts, and %d are the most", len(s.Parts), mostParts))
	case len(s.Troupe) > 200 || len(s.Folder) > 4096 || len(s.Name) > 400:
		return refuse("what it says of itself is too long")
	}
	seen := map[troupe.SessionID]bool{}
	for _, id := range s.Sessions {
		if _, ok := troupe.ParseSessionID(string(id)); !ok || seen[id] {
			return refuse(fmt.Sprintf("%.20q is no id, or stands there twice", id))
		}
		seen[id] = true
		if _, ok := s.Parts[LogPart(id)]; !ok {
			return refuse("it has no log of session " + string(id))
		}
	}
	all, texts := int64(0), int64(0)
	for name, p := range s.Parts {
		if id := s.of(name); !s.Good(name) || id != "" && !seen[id] {
			return refuse(fmt.Sprintf("%.200q is no name for a part", name))
		}
		most := int64(mostPart)
		if strings.Contains(path.Ext(name), ".json") || strings.HasPrefix(name, Plans) {
			most = mostText
			texts += min(p.Bytes, mostText+1)
		}
		if all += p.Bytes; p.Bytes < 0 || p.Bytes > most || all > mostAll || texts > mostText {
			return refuse(fmt.Sprintf("it is too large: %s has %d bytes", name, p.Bytes))
		}
	}
	return nil
}

// take reads a part into a file of our naming.
func (s *Stage) take(h *tar.Header, from io.Reader) error {
	p, ok := s.Parts[h.Name]
	switch {
	case !ok:
		return refuse(fmt.Sprintf("%.200q is not among its parts", h.Name))
	case s.Has(h.Name):
		return refuse(fmt.Sprintf("its part %s is there twice", h.Name))
	case h.Typeflag != tar.TypeReg || h.PAXRecords["GNU.sparse.major"] != "" || h.PAXRecords["GNU.sparse.map"] != "":
		return refuse(fmt.Sprintf("its part %s is no plain file", h.Name))
	case h.Size != p.Bytes:
		return refuse(fmt.Sprintf("its part %s has %d bytes, and should have %d", h.Name, h.Size, p.Bytes))
	}
	err := s.Put(h.Name, func(w io.Writer) error {
		n, err := io.Copy(w, from)
		if err == nil && n != p.Bytes {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum):
		return cut(err)
	case err != nil:
		return err
	case s.Parts[h.Name].SHA256 != p.SHA256:
		return refuse(fmt.Sprintf("its part %s was changed: it is not the one that was written", h.Name))
	}
	return nil
}

// Good reports whether a part can have a name.
func (s *Stage) Good(name string) bool {
	m := s.names.FindStringSubmatch(name)
	return m != nil && (m[4] == "" || fs.ValidPath(m[4]) && m[4] != "." && filepath.IsLocal(filepath.FromSlash(m[4])))
}

// of is the session that a part is of; "": of none alone.
func (s *Stage) of(name string) (id troupe.SessionID) {
	if m := s.names.FindStringSubmatch(name); m != nil {
		id = troupe.SessionID(m[1] + m[2] + m[3])
	}
	return id
}

// hashed takes the hash of what is read.
type hashed struct {
	r   io.Reader
	sum hash.Hash
	n   int64
}

func (h *hashed) Read(b []byte) (int, error) {
	n, err := h.r.Read(b)
	h.sum.Write(b[:n])
	h.n += int64(n)
	return n, err
}

// opened reads what a packed file holds, for as long as that is not out of all proportion.
type opened struct {
	r    io.Reader
	from *hashed
	n    int64
}

func (o *opened) Read(b []byte) (int, error) {
	n, err := o.r.Read(b)
	if o.n += int64(n); o.n > mostAll || o.n > freeRatio && o.n > mostRatio*o.from.n {
		return n, tooDense(o.from.n, o.n)
	}
	return n, err
}
