package command

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzRead(f *testing.F) {
	for _, name := range []string{"readonly.tsv", "benign.tsv", "leak.tsv"} {
		for _, row := range tsv(f, name) {
			f.Add(command(f, row))
		}
	}
	f.Add("echo \"${x:-'$(touch P)'}\"")
	f.Add("a[$(x)]=([b]=c) d {e,f}{1..3} <<E >&2\n${g@P}\nE")
	f.Fuzz(func(t *testing.T, command string) {
		got, err := Read(command)
		var bad *unreadableError
		if err != nil {
			if !errors.As(err, &bad) || bad.Problem == "" {
				t.Fatalf("Read(%q): %v", command, err)
			}
			if v := Judge(command, Options{SafeGit: true}); v.ReadOnly {
				t.Fatalf("%q cannot be read, and is called read-only", command)
			}
			return
		}
		if !utf8.ValidString(command) {
			t.Fatalf("%q is read", command)
		}
		for _, p := range got.Parts {
			if len(p.Words) > 0 && p.Text == "" && p.Words[0].Text != "" {
				t.Fatalf("Read(%q) has a part without text: %+v", command, p)
			}
		}
		v := Judge(command, Options{SafeGit: true})
		if v.ReadOnly == (v.Why != "") {
			t.Fatalf("Judge(%q) is %+v", command, v)
		}
		if v.ReadOnly && len(got.Unclear) > 0 {
			t.Fatalf("Judge(%q) passes what is unclear: %q", command, got.Unclear)
		}
		if plain := Judge(command, Options{}); plain.ReadOnly && !v.ReadOnly {
			t.Fatalf("Judge(%q) passes only without the repository", command)
		}
	})
}

func FuzzPrograms(f *testing.F) {
	for _, s := range []string{"s/a/b/", "/a/,$!{p;d}", "y/a/b/", ":a;N;ba", "a\\\nx", "{print $1 > \"f\"}", "a/2/b",
		"/[/]/", "\"\\\"\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if sedOnlyReads(s) && sedRuns(s) {
			t.Errorf("the sed program %q only reads, and runs something", s)
		}
		if awkOnlyReads(s) && awkRuns(s) {
			t.Errorf("the awk program %q only reads, and runs something", s)
		}
		jqOnlyReads(s)
	})
}

// mixer makes commands out of the words and shapes of known ones.
type mixer struct {
	rand  *rand.Rand
	whole []string // harmless commands
	words []string // of all, the harmful ones too
}

func newMixer(t testing.TB, seed uint64) *mixer {
	m := &mixer{rand: rand.New(rand.NewPCG(seed, 7))} //nolint:gosec // a test that can be run again
	for _, row := range tsv(t, "benign.tsv") {
		m.whole = append(m.whole, command(t, row))
	}
	for _, row := range tsv(t, "readonly.tsv") {
		m.words = append(m.words, strings.Fields(command(t, row))...)
	}
	for _, c := range append(more(), m.whole...) {
		m.words = append(m.words, strings.Fields(c)...)
	}
	m.words = append(m.words, "$(touch PWNED)", "`touch PWNED`", "<(touch PWNED)", "-oPWNED", "PWNED", "'w PWNED'",
		"'{print > \"PWNED\"}'", "${x:-$(touch PWNED)}",
		"\"${x:-'$(touch PWNED)'}\"", "'a[$(touch PWNED)]'", "\\\n", "#", "*", "--output=PWNED", "-i", "-exec", "{}",
		"+", "\\;", "touch", "tee", "e", "w", "--", "-delete",
		// what the archives, the file of options, the remote archive and the index are there for
		"xz", "bzip2", "zstd", "gzip", "a.xz", "b.bz2", "c.zst", "-t", "-d", "-l", "-td", "-ld", "-tk", "--test",
		"--list", "--decompress", "--version", "unzip", "@x", "nm", "size", "readelf", "strings", "@x", "host:x", "tar",
		"tfC", "tCf", "tvXf", "tf", "-tf", "-xOf",
		"git", "describe", "--dirty", "--broken", "--always", "status", "env", "-i", "-u", "GIT_OPTIONAL_LOCKS",
		"GIT_CONFIG_COUNT", "unset")
	for _, list := range classes() {
		for _, c := range list {
			m.words = append(m.words, strings.Fields(c)...)
		}
	}
	for _, c := range append(shellItself(), besideThem()...) {
		m.words = append(m.words, strings.Fields(c)...)
	}
	for _, c := range shellItself() {
		if !strings.Contains(c, "yes") && !strings.Contains(c, "while") { // these go on
			m.whole = append(m.whole, c)
		}
	}
	m.whole = append(m.whole, "xz -t a.xz", "xz -l a.xz", "xz -dc a.xz", "bzip2 -t b.bz2", "bzip2 -dc b.bz2",
		"zstd -l c.zst", "zstd -t c.zst", "gzip -t file.gz", "nm ./lib.so", "size ./lib.so", "readelf -x .text lib.so",
		"strings lib.so", "find . -maxdepth 1 -exec nm {} \\;", "tar tf archive.tar", "tar tCf . archive.tar",
		"tar -xOf archive.tar", "git describe --always", "git status", "env git status", "env LC_ALL=C git status",
		"cat README.md | tee /dev/null", "sed 's/[/]/_/' README.md", "awk '{print ($1>3)?\"a\":\"b\"}' README.md")
	// Harmless words may still make a command run on; those that wait are not tried.
	m.words = slices.DeleteFunc(m.words, func(w string) bool { return w == "sleep" || w == "tail" || w == "-f" })
	return m
}

func (m *mixer) pick(list []string) string { return list[m.rand.IntN(len(list))] }

func (m *mixer) command() string {
	c := m.pick(m.whole)
	for range 1 + m.rand.IntN(3) {
		c = m.change(c)
	}
	return c
}

func (m *mixer) change(c string) string {
	fields := strings.Fields(c)
	at := m.rand.IntN(len(fields) + 1)
	switch m.rand.IntN(18) {
	case 0, 1, 2, 3:
		return strings.Join(slices.Insert(fields, at, m.pick(m.words)), " ")
	case 4, 5:
		if at < len(fields) {
			fields[at] = m.pick(m.words)
		}
		return strings.Join(fields, " ")
	case 6:
		if len(fields) > 1 && at < len(fields) {
			fields = slices.Delete(fields, at, at+1)
		}
		return strings.Join(fields, " ")
	case 7:
		return c + m.pick([]string{" ", "; ", " | ", " && ", " || ", "\n", " & ", "|&"}) + m.pick(m.whole)
	case 8:
		return c + m.pick([]string{" >/dev/null", " 2>&1", " > PWNED", " 2>PWNED", " <README.md", " <<< x",
			" <<E\n$(touch PWNED)\nE", " <<'E'\n$(touch PWNED)\nE"})
	case 9:
		return m.pick([]string{"echo $(", "cat <(", "(", "{ ", "echo `", "time ", "! ", "timeout 1 ", "nice ",
			"command ", "env ", "LC_ALL=C ", "x=1 ", "x=-oPWNED; ", "for x in -o PWNED; do "}) + c +
			m.pick([]string{")", "", "; }", "`", "; done"})
	case 10:
		return m.pick([]string{"if ", "while ! ", "case a in a) "}) + c +
			m.pick([]string{"; then ls; fi", "; do break; done", ";; esac"})
	case 11, 16, 17:
		k := m.rand.IntN(len(c) + 1)
		return c[:k] + m.pick([]string{"'", "\"", "\\", "$", "`", "(", ")", "{", "}", ";", "|", "&", "<", ">", "\n",
			" ", "#", "*", "$'", "${", "$(", "[", "]", "~", "=", "w", "e", "\\\n", " #", "\n#", " # \\\n",
			"\ntouch PWNED\n", " touch PWNED ", "<<E", "\nE\n", "))", "((", "<<<", "&&", "|&", "$((", "$[", "${x", "<(",
			">("}) + c[k:]
	case 12:
		return strings.ReplaceAll(c, m.pick(append(fields, "x")),
			m.pick([]string{"$x", "\"$x\"", "\"$(ls)\"", "*", "./*", "$(ls)"}))
	case 13:
		return "f=" + m.pick(m.words) + "; " + strings.Join(slices.Insert(fields, at,
			m.pick([]string{"$f", "\"$f\"", "${f}", "\"$f/x\"", "$f*"})), " ")
	case 14:
		return c + " | xargs " + m.pick([]string{"", "-0 ", "-n1 ", "-I{} "}) + m.pick(m.words) + " " + m.pick(m.words)
	default:
		return "find . " + m.pick(m.words) + " " + m.pick(m.words) + " -exec " + m.pick(m.words) + " {} \\;"
	}
}

func TestMixedCommandsAreReadWithoutPanic(t *testing.T) {
	t.Parallel()
	m := newMixer(t, 1)
	passed := 0
	for range 20000 {
		if Judge(m.command(), Options{SafeGit: true}).ReadOnly {
			passed++
		}
	}
	if passed < 2000 {
		t.Errorf("only %d of 20000 mixed commands are read-only: the mixture proves little", passed)
	}
}

func BenchmarkRead(b *testing.B)  { benchmark(b, func(c string) { _, _ = Read(c) }) }
func BenchmarkJudge(b *testing.B) { benchmark(b, func(c string) { Judge(c, Options{SafeGit: true}) }) }

func benchmark(b *testing.B, f func(string)) {
	short := "git log --oneline -20 -- src | grep -v 'wip' | head -5; for f in a b; do wc -l \"src/$f.go\"; done; ls"
	long := strings.Repeat(short+"\n", 10000/len(short)+1)[:100*len(short)+99]
	for _, c := range []struct{ name, text string }{{"100B", short}, {"10kB", long}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				f(c.text)
			}
		})
	}
}
