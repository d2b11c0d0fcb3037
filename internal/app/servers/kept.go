package servers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// Kept is the folder in which the lists of servers are kept, a file for each entry that was ever started, and for
// each folder in which a program was.
type Kept string

// keptForm is raised when what is kept means something else: lists of before are made anew then.
const keptForm = 4

// maxKept bounds the lists that are kept, the oldest go first. It is more than the servers of all projects that are
// worked in at a time; one too many has its server started once more.
const maxKept = 400

// failedFor is how long a server that could not be listed is not tried again: else each session would wait for it.
const failedFor = 10 * time.Minute

// keptList is the first line of a file. What is long of tools stands behind it as it is and one after the other:
// nothing has to look at a thousand schemas for a session to begin that may use none.
type keptList struct {
	Form   int        `json:"form"`
	Server string     `json:"server"` // for people who look
	List   mcp.List   `json:"list"`   // without its tools
	Tools  []keptTool `json:"tools"`
	Sum    uint32     `json:"sum"`              // of what stands behind it
	Failed string     `json:"failed,omitempty"` // why there is none
	Login  bool       `json:"login,omitempty"`  // because it wants to know who asks
	At     time.Time  `json:"at"`
}

// keptTool is a tool by its name, and how long its description and its schema are.
type keptTool struct {
	Name      string `json:"name"`
	Described int    `json:"described"`
	Schema    int    `json:"schema"`
}

// pack is a list as it is kept.
func pack(kept keptList) ([]byte, error) {
	var body []byte
	for _, t := range kept.List.Tools {
		kept.Tools = append(kept.Tools, keptTool{t.Name, len(t.Description), len(t.Schema)})
		body = append(append(body, t.Description...), t.Schema...)
	}
	kept.List.Tools, kept.Sum = nil, crc32.ChecksumIEEE(body)
	head, err := json.Marshal(kept)
	return append(append(head, '\n'), body...), err
}

// unpack reads what pack has written; ok is false if it is anything else.
func unpack(data []byte) (kept keptList, ok bool) {
	head, body, _ := bytes.Cut(data, []byte("\n"))
	if json.Unmarshal(head, &kept) != nil || kept.Form != keptForm || kept.Sum != crc32.ChecksumIEEE(body) {
		return kept, false
	}
	take := func(n int) []byte {
		n = max(min(n, len(body)), 0)
		part := body[:n:n]
		body = body[n:]
		return part
	}
	kept.List.Tools = make([]mcp.Tool, len(kept.Tools))
	for i, t := range kept.Tools {
		kept.List.Tools[i] = mcp.Tool{Name: t.Name, Description: string(take(t.Described)), Schema: take(t.Schema)}
	}
	return kept, len(body) == 0
}

func (k Kept) file(e entry.Entry, cwd string) string {
	return filepath.Join(string(k), keyOf(e, cwd)+".json")
}

// keyOf names what an entry does in a folder. A program may be another one in each: by a relative path, by what lies
// in node_modules, by what a file there says is fetched. What one folder's says or fetches reaches no other.
func keyOf(e entry.Entry, cwd string) string {
	if e.Type != entry.Stdio {
		return e.Hash()
	}
	sum := sha256.Sum256([]byte(e.Hash() + "\x00" + cwd))
	return hex.EncodeToString(sum[:16])
}

// Get returns the list of an entry, or why there was none a short while ago. One that cannot be read is as good as
// none: it is made anew.
func (k Kept) Get(e entry.Entry, cwd string, now time.Time) (l mcp.List, found bool, failed error) {
	data, err := disk.Read(k.file(e, cwd), disk.Most)
	if err != nil {
		return mcp.List{}, false, nil
	}
	kept, ok := unpack(data)
	if !ok {
		return mcp.List{}, false, nil
	}
	if kept.Failed != "" {
		if age := now.Sub(kept.At); age < 0 || age > failedFor {
			return mcp.List{}, false, nil
		}
		if kept.Login {
			return mcp.List{}, false, &mcp.LoginError{Server: e.Name} // under the name that it has here
		}
		return mcp.List{}, false, errors.New(kept.Failed)
	}
	return kept.List, true, nil
}

// Put keeps a list, or why there is none. Several processes may do so at once: a file is there whole, or not at all.
func (k Kept) Put(e entry.Entry, cwd string, l mcp.List, failed error, now time.Time) error {
	kept := keptList{Form: keptForm, Server: e.Name, List: l, At: now}
	if failed != nil {
		kept.Failed, kept.Login = failed.Error(), errors.As(failed, new(*mcp.LoginError))
	}
	data, err := pack(kept)
	if err != nil {
		return fmt.Errorf("keep the tools of MCP server %s: %w", e.Name, err)
	}
	if err := os.MkdirAll(string(k), 0o700); err != nil {
		return fmt.Errorf("keep the tools of MCP server %s: %w", e.Name, err)
	}
	if err := disk.Cache(k.file(e, cwd), data); err != nil {
		return fmt.Errorf("keep the tools of MCP server %s: %w", e.Name, err)
	}
	disk.Tidy(string(k), maxKept)
	return nil
}
