package gate

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// readingFilters only read, with these options, and stand behind a pipe now and then.
func readingFilters() []string {
	return []string{
		"unzip -l a.zip", "unzip -Z1 a.zip", "unzip -p a.zip x.json", "unzip -qc a.zip 'docs/*'", "unzip -tq a.zip",
		"zipinfo -1 a.zip", "ar t a.a", "ar tv a.a", "ar p a.a x.o", "zstdcat a.zst", "lzcat a.lzma",
		"gzip --to-stdout",
		"jq --arg n x 'select(.Test == $n)'", "jq -r --argjson n 5 '.[] | select(.a > $n)'", "jq --indent 2 .",
		"jq -n --arg a \"$PWD\" '$a'", "jq -r '.Test | ascii_downcase'", "jq --stream -c .", "jq --raw-output0 .Test",
		"jq '.a == $ARGS.positional' --args x y",
		"iconv -f latin1 -t utf-8", "iconv -c -t ascii//TRANSLIT", "iconv -l",
		"xxd -l 64 f", "xxd -p", "xxd -g1 -c 16 f", "xxd -s 4 -b f", "hd -n 5 f",
		"strings -t x f", "strings -a -e l f", "nm -o f.o", "nm --defined-only f.o", "readelf --wide --all f",
		"size --format=gnu f.o", "shasum -a 256 f", "md5 f", "crc32 f", "basenc --base64", "base64 --ignore-garbage",
		"numfmt --to=iec --field=2", "tsort", "diff3 -m a b c", "look foo words", "bc -l",
		"sort --sort=numeric --parallel=2", "sort --version", "uniq --all-repeated=separate", "shuf --head-count=5",
		"sed 's:a:b:g'", "sed -n 's@a@b@p'", "tee --append /dev/null",
		"tree --sort=size", "tree -X", "rg --sortr=path x", "rg -b --files-without-match x", "rg -j 2 --no-config x",
		"fd -S +5k -c never x", "less -s f", "file -e elf f", "find . -newermt 2020-01-01", "find . -samefile f",
		"find . -nouser -links 2", "xargs ls -l", "xargs stat", "date -r f +%s", "date --rfc-3339=seconds",
		"ps --forest -q 5", "pgrep -fl go", "pidof go", "who -a", "w -h", "users", "cal -3", "lsblk -o NAME",
		"getconf -a", "locale -a", "go list -m", "go env -json", "go env CGO_ENABLED", "command -p ls",
		"git format-patch --stdout -1", "git format-patch -n --stdout main..HEAD", "git check-attr -a f",
		"git check-mailmap 'a <a@b.c>'", "git check-ref-format x", "git cat-file --batch-check", "git notes show",
		"git ls-files --eol", "git ls-files -v", "git log --color-moved-ws=no --max-parents=1",
		"git rev-list --disk-usage HEAD",
		"git diff --line-prefix=x", "git diff --ours", "git grep --column --full-name x", "git blame --minimal f",
		"git rev-parse --is-shallow-repository", "git status --column", "git branch --omit-empty",
		"git shortlog --group=author", "git range-diff --creation-factor=5 a...b", "git fsck --unreachable",
		"git config --null --list", "git name-rev --annotate-stdin", "git stripspace -c",
	}
}

// Beside a rule for one part of a command, a filter that only reads needs none of its own, also where no
// kernel holds it.
func TestFiltersGoOnBesideARule(t *testing.T) {
	t.Parallel()
	rules := allows(t, "Bash(go test:*)")
	for _, filter := range readingFilters() {
		if d := readAlone("go test ./... 2>&1 | "+filter, false, rules...); d.Effect != troupe.Allow {
			t.Errorf("%q: %+v", filter, d)
		}
	}
}

// The same programs write a file, run a program or read what is hidden by other options.
func TestFiltersThatWriteAreAskedAbout(t *testing.T) {
	t.Parallel()
	rules := allows(t, "Bash(go test:*)")
	for _, filter := range []string{
		"unzip a.zip", "unzip -l -- -l a.zip", "unzip -l a.zip -d x", "unzip a.zip -l", "unzip -q a.zip",
		"unzip -l \"$x\" $y",
		"unzip -o -p a.zip", "zipinfo -M a.zip", "ar x a.a", "ar tx a.a", "ar t @x", "ar r a.a b", "ar \"$x\" a.a",
		"jq --arg n '\\u001b' '$n'", "jq --arg n x", "jq --arg n x env", "jq --arg . x -n 'input_filename'",
		"jq --arg a b --from-file x", "jq --rawfile a .env '$a'", "jq --slurpfile a .env '$a'",
		"jq -L x 'import \"a\" as a; .'",
		"jq --arg $a b .", "jq --arg a $b .", "jq -r '[27] | ascii'", "jq -r '[27] | implode | ascii_downcase'",
		"iconv -o f", "iconv --output=f", "iconv --out f", "iconv -f ../x -t utf-8", "iconv -t \"$x\"",
		"xxd f g", "xxd -r f g", "xxd -l 5 f g", "xxd -c f g", "xxd -l 5g f g", "xxd -ps f g", "xxd \"$x\" f",
		"hexdump -e '\"\\033\"' f", "strings @x", "strings -t @x f", "strings -T x f", "nm --plugin x f.o", "nm -o @x",
		"diff3 --diff-program=x a b c", "diff3 --diff x a b c", "bc f", "sort -o f", "sort --output=f", "sort -T x",
		"sort --version -o f", "sort --files0-from=x", "sort --compress-program=x", "shuf -o f", "shuf --output=f",
		"shuf --output f", "sed 's:a:b:w f'", "sed 's@a@b@e'", "sed 's:a:b:;w f'", "sed 's:[:]:b:w f:'",
		"tree -o f", "tree -R -H x", "rg --pre x y", "rg -z x", "rg --hostname-bin x y", "fd -x rm", "fd -l -x rm",
		"less -o f", "less -k f", "file -C -m x", "file -z f", "file -p f", "find . -fprint f", "find . -fls f",
		"find . -delete", "find . -newerXY x", "xargs -a f ls", "xargs sort --version", "jq -- . --arg x .env",
		"xargs cat", "xargs find", "xargs file -f", "xargs rg x",
		"date -s x", "date --set=x", "date 0101", "pgrep -F x", "getconf -v x y", "go list", "go list -m all",
		"go list -m -u",
		"go env -w GOFLAGS=x", "go env -json -w X=y", "git format-patch -1", "git format-patch --stdout -o d -1",
		"git format-patch --stdout --output=f -1", "git format-patch --stdout --output-directory=d -1",
		"git format-patch --no-stdout --stdout -1", "git cat-file --batch", "git cat-file --textconv x",
		"git log --stdin",
		"git diff --output=f", "git grep -O x", "git fsck --lost-found", "git notes add -m x", "git config a b",
		"git config --null a b", "git branch x", "git branch --omit-empty x", "git stash pop", "git apply x",
		"git ls-files -X .env", "git blame --contents .env f", "git log --encoding=../x",
	} {
		if d := readAlone("go test ./... 2>&1 | "+filter, true, rules...); d.Effect != troupe.Ask &&
			d.Effect != troupe.Deny {
			t.Errorf("%q: %+v", filter, d)
		}
	}
}

// Of a program that has other uses than reading, an allow rule covers these too: it is not one for looking at things.
func TestRuleForAProgramThatAlsoWrites(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ rule, command string }{
		{"Bash(git apply:*)", "git apply x.patch"}, {"Bash(git apply:*)", "git apply --check x.patch"},
		{"Bash(git config:*)", "git config user.name x"}, {"Bash(git worktree:*)", "git worktree add -b x ../y"},
		{"Bash(git notes:*)", "git notes add -m x"}, {"Bash(git bisect:*)", "git bisect start"},
		{"Bash(git hash-object:*)", "git hash-object -w x"}, {"Bash(git stash:*)", "git stash pop"},
		{"Bash(git stash:*)", "git stash push -m x"}, {"Bash(git stash:*)", "git stash"},
		{"Bash(git symbolic-ref:*)", "git symbolic-ref HEAD refs/heads/x"},
		{"Bash(git format-patch:*)", "git format-patch -1"}, {"Bash(git fsck:*)", "git fsck --lost-found"},
		{"Bash(unzip:*)", "unzip a.zip"}, {"Bash(ar:*)", "ar r a.a b.o"}, {"Bash(gzip:*)", "gzip f"},
		{"Bash(shuf:*)", "shuf -o f g"}, {"Bash(zipinfo:*)", "zipinfo -M a.zip"},
		{"Bash(printenv:*)", "printenv TOKEN"},
	} {
		rules := allows(t, test.rule)
		if d := readAlone(test.command, false, rules...); d.Effect != troupe.Allow || d.Step != StepAllowRule {
			t.Errorf("%s, %q: %+v", test.rule, test.command, d)
		}
		if d := run(test.command, bothLevels, rules...); d.Effect != troupe.Allow ||
			d.Sandbox != troupe.LevelWorkspace {
			t.Errorf("%s, %q with a sandbox: %+v", test.rule, test.command, d)
		}
	}
	// An option that has git write where the caller says, or run a program, has to be in the rule.
	for _, test := range []struct{ rule, command string }{
		{"Bash(git format-patch:*)", "git format-patch -o d -1"},
		{"Bash(git format-patch:*)", "git format-patch -od -1"},
		{"Bash(git format-patch:*)", "git format-patch --output-dir d -1"},
		{"Bash(git apply:*)", "git -c core.fsmonitor=x apply y"}, {"Bash(git stash:*)", "git stash show --ext-diff"},
		{"Bash(git stash:*)", "git stash show --output=f"}, {"Bash(git remote:*)", "git remote add x y"},
		{"Bash(git branch:*)", "git branch x"}, {"Bash(git log:*)", "git log --output=f"},
	} {
		if d := readAlone(test.command, false, allows(t, test.rule)...); d.Effect == troupe.Allow {
			t.Errorf("%s, %q: %+v", test.rule, test.command, d)
		}
	}
}
