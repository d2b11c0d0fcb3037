package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tsv reads a table of cases; the first line names the columns.
func tsv(t testing.TB, name string) []map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "attacks", name))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	head := strings.Split(strings.TrimPrefix(lines[0], "#"), "\t")
	var out []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, field := range strings.Split(line, "\t") {
			if i < len(head) {
				row[head[i]] = field
			}
		}
		out = append(out, row)
	}
	return out
}

func command(t testing.TB, row map[string]string) string {
	t.Helper()
	var command string
	if err := json.Unmarshal([]byte(row["command_json"]), &command); err != nil {
		t.Fatalf("%s: %v", row["id"], err)
	}
	return strings.ReplaceAll(command, "{PORT}", "9")
}

func TestJudgeRefusesWhatDoesMoreThanRead(t *testing.T) {
	t.Parallel()
	for _, row := range tsv(t, "readonly.tsv") {
		c := command(t, row)
		for _, o := range []Options{{}, {SafeGit: true}} {
			if v := Judge(c, o); v.ReadOnly || v.Why == "" {
				t.Errorf("%s: Judge(%q, %+v) is %+v", row["id"], c, o, v)
			}
		}
	}
}

func TestJudgeRefusesGitInHostileRepositories(t *testing.T) {
	t.Parallel()
	for _, row := range tsv(t, "hostile_repo.tsv") {
		c := command(t, row)
		if v := Judge(c, Options{}); v.ReadOnly {
			t.Errorf("%s: Judge(%q) is %+v", row["id"], c, v)
		}
	}
}

// stretchLeft are the cases that would be nice to have and are asked about instead, with the reason.
func stretchLeft(id string) string {
	return map[string]string{
		"B0265": "env tells secrets",
		"B0287": "go list fetches modules", "B0289": "go doc fetches modules",
		"B0290": "go vet fetches modules and runs a C compiler",
		"B0296": "openssl loads what its configuration names",
		"B0406": "sed programs read differently where a bracket holds the delimiter",
		"B0298": "sqlite3 can write and load code by what its SQL says",
	}[id]
}

func TestJudgePassesWhatOnlyReads(t *testing.T) {
	t.Parallel()
	for _, row := range tsv(t, "benign.tsv") {
		c := command(t, row)
		v := Judge(c, Options{SafeGit: true})
		if left := stretchLeft(row["id"]); !v.ReadOnly && (left == "" || row["tier"] == "core") {
			t.Errorf("%s (%s): Judge(%q) says it %s", row["id"], row["tier"], c, v.Why)
		} else if v.ReadOnly && left != "" {
			t.Errorf("%s: passes now", row["id"])
		}
	}
}

// TestSecretsAreNotRead: what tells the environment is no reading, and what reads a file
// says so, for the rules about reading.
func TestSecretsAreNotRead(t *testing.T) {
	t.Parallel()
	for _, row := range tsv(t, "leak.tsv") {
		c := command(t, row)
		v := Judge(c, Options{SafeGit: true})
		switch {
		case !v.ReadOnly:
		case row["class"] == "leakenv":
			t.Errorf("%s: Judge(%q) is %+v", row["id"], c, v)
		case !v.Open && !v.Here && !slices.ContainsFunc(v.Reads, func(s Source) bool {
			read, _ := Read(c) // Judge has read it
			return s.Below || slices.ContainsFunc(read.Variables("~").Expand(s.Word), func(t Text) bool {
				return t.Cut || strings.Contains(t.Text, ".e") || strings.Contains(t.Text, "id_")
			})
		}):
			t.Errorf("%s: Judge(%q) does not say what it reads: %+v", row["id"], c, v)
		}
	}
}
