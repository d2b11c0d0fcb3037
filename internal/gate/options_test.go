package gate

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/command"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// judged is what becomes of a command where Bash is allowed and some commands are forbidden.
func judged(t testing.TB, mode troupe.Mode, effect troupe.Effect, command string, rules ...string) troupe.Decision {
	t.Helper()
	all := allows(t, "Bash")
	for _, text := range rules {
		all = append(all, parse(t, effect, text))
	}
	q := query("Bash", bash(command), all...)
	q.Chain[0].Mode, q.SafeGit, q.Levels = mode, true, bothLevels
	return Decide(q)
}

func subcommandRules() []string {
	return []string{
		"Bash(git push:*)", "Bash(rm -rf:*)", "Bash(git reset --hard:*)", "Bash(npm publish:*)", "Bash(docker run:*)",
		"Bash(kubectl delete:*)", "Bash(terraform apply:*)", "Bash(git commit:*)", "Bash(git remote add:*)",
		"Bash(npm run deploy*)", "Bash(docker compose down)",
	}
}

// Options before the words that a rule spells out do not hide them.
func TestForbiddenSubcommandsBehindOptions(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"git push", "git --no-pager push", "git -C . push", "git -C push push", "git --no-optional-locks push",
		"git -c a=b push", "git -c a=b -C x --no-pager push origin main",
		"git --git-dir=x push", "git --git-dir x push", "git --work-tree x --git-dir y push", "git -P push",
		"git --literal-pathspecs push -f", "git $O push", "git \"$O\" push", "git -C \"$D\" push",
		"git -C \"a b\" push",
		"git -C $(pwd) push", "cd x && git --no-pager push; ls", "timeout 5 git -C . push", "sudo git -C . push",
		"/usr/bin/git -C . push", "GIT -C . push", "g?t -C . push", "bash -c 'git -C . push'",
		"ls | xargs git -C . push", "find . -execdir git -P push \\;",
		"x=push; git $x", "x=push; git -P \"$x\"", "a=pu; git ${a}sh", "for s in fetch push; do git $s; done",
		"x='-C . push'; git $x",
		"git --no-pager reset --hard", "git reset -q --hard", "git -C . reset -q --hard HEAD~1",
		"git --no-pager commit -m x", "git remote -v add x y", "git -C . remote -v add x y",
		"npm --silent publish", "npm -s publish", "npm --loglevel silent publish", "npm --force true publish",
		"npm --prefix x publish", "npm --prefix=x publish", "npm -w a -s publish --tag b",
		"npm run -s deploy", "npm --silent run --if-present deploy:prod", "npm run --prefix x deploy-now",
		"docker -H x run y", "docker --context z run -it y", "docker -D run y", "docker -l debug --tls run y",
		"docker compose -f a.yml down", "docker --debug compose -p x down", "sudo docker -H x run y",
		"kubectl -n prod delete pod x", "kubectl --context a --namespace=b delete pod x", "kubectl --v 5 delete x",
		"terraform -chdir=x apply", "terraform -chdir=x -no-color apply -auto-approve",
		"rm -v -rf x", "rm --one-file-system -rf x", "rm -i -rf x", "rm -rf x",
		"git -C push status", // more than is meant, and rare
	} {
		for _, mode := range []troupe.Mode{troupe.ModeDefault, troupe.ModeBypass} {
			if d := judged(t, mode, troupe.Deny, command, subcommandRules()...); d.Effect != troupe.Deny ||
				d.Step != StepDenyRule {
				t.Errorf("%s, %q: %+v", mode, command, d)
			}
		}
		if d := judged(t, troupe.ModeBypass, troupe.Ask, command, subcommandRules()...); d.Effect != troupe.Ask ||
			d.Step != StepAskRule {
			t.Errorf("ask, %q: %+v", command, d)
		}
	}
}

// What people run every day beside such rules is not caught by them.
func TestForbiddenSubcommandsSpareOthers(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"git status", "git --no-pager log push", "git --no-pager log -1", "git -C . status", "git -C sub log --oneline",
		"git -c user.name='A push' status", "git -c push.default=simple status", "git -P diff push", "git stash push",
		"git -C . stash push -m x", "git log --grep push",
		"git log -- push", "git checkout -b push", "git checkout push", "git branch -D commit", "git show commit",
		"git --no-pager show commit", "git reset", "git reset --soft HEAD", "git reset -q HEAD x", "git remote -v",
		"git remote show add", "git add -A", "git fetch --all", "git rebase -i push",
		"git diff --stat commit", "git ls-files -m", "git add -p push.go", "git rm -rf x", "echo git -C . push",
		"grep -rn 'git push' .", "rg -n \"git -C . push\"", "cat push; git status",
		"npm --silent run publish", "npm -s run publish-docs", "npm run publish", "npm --silent test",
		"npm -s run build", "npm run build -- deploy", "npm run test", "npm install --save publish",
		"npm view x publish", "npm --version", "npm run lint -s",
		"docker ps", "docker --debug ps", "docker exec -it run sh", "docker compose run web", "docker -H x ps",
		"docker compose -f a.yml up -d", "docker compose -f a.yml ps", "docker build -t run .", "docker images run",
		"kubectl get pods", "kubectl -n prod get pods", "kubectl --context a get delete", "kubectl describe pod delete",
		"kubectl -n prod logs -f delete",
		"terraform plan", "terraform -chdir=x plan", "terraform -chdir=x plan -out apply", "terraform show apply",
		"rm x", "rm -f x", "rm -r x", "rm -v x", "rm -f -- -rf2", "make push", "make -C x push", "go -C x test ./...",
		"cargo --locked test", "x=status; git $x", "x=push; git status $x",
		"for s in fetch status; do git $s; done", "git commit-graph write",
	} {
		if d := judged(t, troupe.ModeBypass, troupe.Deny, command, subcommandRules()...); d.Effect != troupe.Allow {
			t.Errorf("%q: %+v", command, d)
		}
	}
}

// A rule that allows is never read so.
func TestAllowRulesDoNotLookPastOptions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ rule, command string }{
		{"Bash(git push:*)", "git -C x push"},
		{"Bash(git push:*)", "git -c core.sshCommand=x push"},
		{"Bash(npm run:*)", "npm --prefix x run y"},
		{"Bash(make all:*)", "make -f x all"},
		{"Bash(rm -i:*)", "rm -rf -i x"},
	} {
		if d := run(test.command, bothLevels, allows(t, test.rule)...); d.Step == StepAllowRule {
			t.Errorf("%s, %q: %+v", test.rule, test.command, d)
		}
	}
}

func TestSearchBehindOptionsIsBounded(t *testing.T) {
	t.Parallel()
	w, _ := rule.ParseWildcard("a -x -x -x -x y:*")
	words := strings.Fields("a" + strings.Repeat(" -x", command.MaxWords-2))
	if matchBehindOptions(&w, words) {
		t.Error("there is no y")
	}
	if !matchBehindOptions(&w, append(words, "y")) {
		t.Error("there is a y")
	}
}

func FuzzMatchBehindOptions(f *testing.F) {
	for _, s := range []string{"git push:*\x00git -C . push", "a b*\x00a -c \"$x\" b", "a *b\x00a - b",
		"a  b\x00$a -- b"} {
		spec, command, _ := strings.Cut(s, "\x00")
		f.Add(spec, command)
	}
	f.Fuzz(func(t *testing.T, spec, command string) {
		w, problem := rule.ParseWildcard(spec)
		words := strings.Fields(command)
		if problem != "" || !matchBehindOptions(&w, words) {
			return
		}
		if !strings.Contains(command, "-") && !strings.ContainsAny(command, "$`") {
			t.Errorf("%q is found in %q, which has no options", spec, command)
		}
	})
}
