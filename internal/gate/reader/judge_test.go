package reader

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tsv reads a table of cases; the first line names the columns.
func tsv(t testing.TB, name string) []map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
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

// stretchLeft are the cases that would be nice to have and are asked about instead, with the
// reason.
func stretchLeft(id string) string {
	return map[string]string{
		"B0265": "env tells secrets",
		"B0287": "go list fetches modules", "B0289": "go doc fetches modules", "B0290": "go vet fetches modules and runs a C compiler",
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

// TestHarmfulGitConfigFindsTheKey configures a repository as the recorded cases do, and asks
// git as the caller of Judge should.
func TestHarmfulGitConfigFindsTheKey(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	git := func(dir string, args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return out
	}
	plain := t.TempDir()
	git(plain, "init", "-q", "-b", "main")
	for _, kv := range [][2]string{{"user.name", "x"}, {"remote.origin.url", "https://example.com/a"}, {"remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"}, {"branch.main.remote", "origin"}, {"branch.main.merge", "refs/heads/main"}, {"core.fsmonitor", "false"}, {"pull.rebase", "true"}} {
		git(plain, "config", kv[0], kv[1])
	}
	if key := HarmfulGitConfig(git(plain, GitConfigArgs()...)); key != "" {
		t.Errorf("a plain repository is harmful by %s", key)
	}
	found := 0
	for _, row := range tsv(t, "hostile_repo.tsv") {
		var setup string
		if err := json.Unmarshal([]byte(row["setup_json"]), &setup); err != nil {
			t.Fatal(err)
		}
		got, err := Read(setup)
		if err != nil {
			t.Fatalf("%s: %v", row["id"], err)
		}
		dir := t.TempDir()
		git(dir, "init", "-q")
		configured := false
		for _, p := range got.Parts {
			if len(p.Words) == 4 && p.Words[0].Text == "git" && p.Words[1].Text == "config" {
				git(dir, "config", p.Words[2].Text, p.Words[3].Text)
				configured = true
			}
		}
		if !configured {
			continue
		}
		found++
		if HarmfulGitConfig(git(dir, GitConfigArgs()...)) == "" {
			t.Errorf("%s: nothing harmful is found after %s", row["id"], setup)
		}
	}
	if found < 10 {
		t.Errorf("only %d of the recorded repositories have a configuration", found)
	}
	if HarmfulGitConfig([]byte("local\x00a\nb")) == "" || HarmfulGitConfig(nil) != "" {
		t.Error("a cut answer is harmless, or none is harmful")
	}
}

func TestHarmfulGitKey(t *testing.T) {
	t.Parallel()
	for key, value := range map[string]string{
		"core.fsmonitor": "true", "core.hookspath": "x", "core.pager": "x", "core.sshcommand": "x", "core.editor": "x", "core.worktree": "..", "core.attributesfile": "x", "core.gitproxy": "x", "core.askpass": "x", "core.alternaterefscommand": "x",
		"diff.external": "x", "diff.X.textconv": "x", "diff.x.command": "x", "diff.submodule": "log", "filter.x.clean": "x", "filter.x.process": "x", "filter.x.smudge": "x", "gpg.program": "x", "gpg.ssh.program": "x", "log.showsignature": "true",
		"format.pretty": "%G?", "pretty.x": "%h %GK", "pager.log": "x", "remote.o.uploadpack": "x", "remote.o.promisor": "true", "remote.o.vcs": "x", "extensions.partialclone": "o", "include.path": "x", "includeif.x.path": "y", "merge.x.driver": "x", "submodule.x.update": "!x", "uploadpack.packobjectshook": "x", "interactive.difffilter": "x", "new.key": "x", "trace2.eventtarget": "x", "status.submodulesummary": "true", "sequence.editor": "x", "": "",
	} {
		if !HarmfulGitKey(key, value) {
			t.Errorf("%s=%s is harmless", key, value)
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
		case !v.Open && len(v.Patterns) == 0 && !strings.Contains(strings.Join(v.Reads, " "), ".env") && !strings.Contains(strings.Join(v.Reads, " "), "id_rsa"):
			t.Errorf("%s: Judge(%q) does not say what it reads: %+v", row["id"], c, v)
		}
	}
}
