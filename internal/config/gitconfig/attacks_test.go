package gitconfig

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed testdata/attacks.tsv
var attacks string

// TestAttacks plays what a command could do to a config, change by change, each of which is let only if it is harmless,
// and then a person who pushes, pulls and fetches. Nothing new runs or is reached by that, and nothing is lost.
func TestAttacks(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	origin := newRepository(t)
	without := map[string]string{}
	for line := range strings.Lines(attacks) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 {
			t.Fatalf("%q has %d fields", line, len(fields))
		}
		if _, ok := without[fields[1]]; !ok {
			r := origin.another(t)
			r.person(fields[1])
			without[fields[1]] = r.daily()
		}
		want := without[fields[1]]
		t.Run(fields[0], func(t *testing.T) {
			t.Parallel()
			r := origin.another(t)
			r.person(fields[1])
			for command := range strings.SplitSeq(fields[2], "; ") {
				r.command(command)
			}
			if got := r.daily(); got != want {
				t.Errorf("after the command the person's day ends with\n%s\nwithout it with\n%s\n%s", got, want,
					r.config())
			}
		})
	}
}

type repository struct {
	t   *testing.T
	top string
}

func newRepository(t *testing.T) *repository {
	r := &repository{t: t, top: t.TempDir()}
	for _, dir := range []string{"work", "home"} {
		if err := os.Mkdir(filepath.Join(r.top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.person(`git config --global user.name A; git config --global user.email a@example.com
git init -q -b main; git commit -q --allow-empty -m one
for there in $good $evil; do git init -q --bare -b main $there; git push -q $there main main:release; done
git -C $evil tag theirs main
printf '#!/bin/sh\ncat >> %s\n' ../reached > $evil/hooks/pre-receive; chmod +x $evil/hooks/pre-receive
mkdir evil hooks; printf '#!/bin/sh\ntouch %s\n' ../ran > evil/pre-commit; chmod +x evil/pre-commit
printf '#!/bin/sh\ntouch %s\n' ../checked > hooks/pre-commit; chmod +x hooks/pre-commit
git remote add origin $good; git fetch -q origin; git branch -q --set-upstream-to=origin/main`)
	return r
}

// another is the same at another place.
func (r *repository) another(t *testing.T) *repository {
	top := t.TempDir()
	if err := os.CopyFS(top, os.DirFS(r.top)); err != nil {
		t.Fatal(err)
	}
	return &repository{t, top}
}

// person runs a line of shell for which nothing is judged.
func (r *repository) person(line string) string {
	cmd := exec.CommandContext(r.t.Context(), "sh", "-c", line)
	cmd.Dir = filepath.Join(r.top, "work")
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(r.top, "home"), "XDG_CONFIG_HOME=", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000", "LC_ALL=C",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.abbrev", "GIT_CONFIG_VALUE_0=40",
		"good=../good.git", "evil=../evil.git")
	out, _ := cmd.CombinedOutput()
	return strings.ReplaceAll(string(out), r.top, "")
}

// command runs one of a command's steps. If it changes the config in a way that is not harmless, it was refused.
func (r *repository) command(line string) {
	file := filepath.Join(r.top, "work/.git/config")
	before := r.config()
	r.person(line)
	theirs, err := os.ReadFile(filepath.Join(r.top, "home/.gitconfig"))
	if err != nil {
		r.t.Fatal(err)
	}
	entries, ok := Parse(theirs)
	if !Harmless([]byte(before), []byte(r.config()), Beside{entries, !ok}) {
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *repository) config() string {
	text, err := os.ReadFile(filepath.Join(r.top, "work/.git/config"))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// daily is what is where after a person has worked with git as every day.
func (r *repository) daily() string {
	r.person(`git checkout -q main; git commit -q --allow-empty -m two; git push; git -c push.default=current push
git pull --no-edit; git fetch --all`)
	return r.person(`git -C $good for-each-ref; git -C $evil for-each-ref; git tag; ls ..; git config core.sshCommand`)
}
