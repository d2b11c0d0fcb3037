package content_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/content"
	"github.com/troupe-dev/troupe/internal/tool"
)

const putter = "TROUPE_TEST_PUT_INTO"

// TestMain is also the process that TestKilled kills: it puts contents for ever and prints
// the hash of each that was promised to be kept.
func TestMain(m *testing.M) {
	dir := os.Getenv(putter)
	if dir == "" {
		goleak.VerifyTestMain(m)
		return
	}
	s := content.In(dir)
	for i := 0; ; i++ {
		hash, err := s.Put(numbered(i))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(i, hash)
	}
}

// numbered is a content that takes more than one write to put down.
func numbered(i int) []byte {
	r := rand.New(rand.NewPCG(uint64(i), 1))
	b := make([]byte, 200_000)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestPutAndGet(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	s := content.In(dir)
	for _, c := range [][]byte{nil, []byte("a"), []byte("a\r\n\x00\xff"), bytes.Repeat([]byte("line\n"), 100_000),
		numbered(1)} {
		hash, err := s.Put(c)
		if err != nil || hash != tool.Hash(c) {
			t.Fatalf("put %d bytes: %q, %v", len(c), hash, err)
		}
		again, err := s.Put(c)
		if err != nil || again != hash {
			t.Errorf("put again: %q, %v", again, err)
		}
		got, err := content.In(dir).Get(hash)
		if err != nil || !bytes.Equal(got, c) {
			t.Errorf("got %d bytes of %d, %v", len(got), len(c), err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 5 {
		t.Errorf("%d files for 5 contents, %v", len(entries), err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v, %v", info.Mode(), err)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret.gz"), packed(t, "secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := content.In(filepath.Join(dir, "content"))
	for _, hash := range []string{tool.Hash([]byte("x")), "", "..", "../secret", strings.Repeat("A", 32),
		strings.Repeat("a", 31) + "/"} {
		if got, err := s.Get(hash); !errors.Is(err, troupe.ErrNotFound) {
			t.Errorf("%q: %q, %v", hash, got, err)
		}
	}
}

func packed(t *testing.T, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Whatever happened to a file on the disk, it is not returned as what it is not; and the
// next one who has the content mends it.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := content.In(dir)
	old := bytes.Repeat([]byte("what it was\n"), 50)
	hash, err := s.Put(old)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, hash+".gz")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	bad := map[string][]byte{"empty": nil, "another content": packed(t, "else"), "no gzip": old}
	for i := range whole {
		bad["cut at "+strconv.Itoa(i)] = whole[:i]
		flipped := bytes.Clone(whole)
		flipped[i] ^= 0x10
		bad["flipped at "+strconv.Itoa(i)] = flipped
	}
	for what, b := range bad {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		// Some bytes of the header mean nothing to us.
		if got, err := s.Get(hash); err == nil && !bytes.Equal(got, old) ||
			err != nil && !errors.Is(err, content.ErrDamaged) {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	if _, err := s.Put(old); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(hash); err != nil || !bytes.Equal(got, old) {
		t.Errorf("not mended: %q, %v", got, err)
	}
}

func TestPutFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if hash, err := content.In(filepath.Join(file, "content")).Put([]byte("x")); err == nil || hash != "" {
		t.Errorf("kept below a file: %q, %v", hash, err)
	}
	// What cannot get its name is not left lying about.
	s := content.In(dir)
	if err := os.Mkdir(filepath.Join(dir, tool.Hash([]byte("x"))+".gz"), 0o700); err != nil {
		t.Fatal(err)
	}
	if hash, err := s.Put([]byte("x")); err == nil || hash != "" {
		t.Errorf("kept over a folder: %q, %v", hash, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".new-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "content")
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			s := content.In(dir)
			for i := range 12 {
				c := []byte(fmt.Sprintf("content %d", (g+i)%12))
				hash, err := s.Put(c)
				if err != nil {
					t.Errorf("put: %v", err)
					continue
				}
				if got, err := s.Get(hash); err != nil || !bytes.Equal(got, c) {
					t.Errorf("%q is %q, %v", c, got, err)
				}
			}
		})
	}
	all.Wait()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 12 {
		t.Errorf("%d files for 12 contents, %v", len(entries), err)
	}
}

// A process killed at any moment leaves every content it promised, and nothing under a name
// that is not whole.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const kills = 20
	for round := range kills {
		promised := putUntilKilled(t, dir, round)
		s := content.In(dir)
		for i, hash := range promised {
			if got, err := s.Get(hash); err != nil || !bytes.Equal(got, numbered(i)) {
				t.Fatalf("round %d: content %d of %d: %d bytes, %v", round, i, len(promised), len(got), err)
			}
		}
		names, err := filepath.Glob(filepath.Join(dir, "*.gz"))
		if err != nil || len(names) < len(promised) {
			t.Fatalf("round %d: %d files, %v", round, len(names), err)
		}
		for _, name := range names {
			if _, err := s.Get(strings.TrimSuffix(filepath.Base(name), ".gz")); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if round%5 == 4 { // what is there already is looked at and not written
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// putUntilKilled kills a putting process after it has promised some, in the middle of the
// next, and returns what it promised.
func putUntilKilled(t *testing.T, dir string, round int) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), putter+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var promised []string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		_, hash, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			continue // the last line may be cut off
		}
		if len(hash) == 32 {
			promised = append(promised, hash)
		}
		if len(promised) == 1+round%7 {
			// How far the next one has come by then is for the scheduler to say.
			spin := rand.New(rand.NewPCG(uint64(round), 2)).IntN(2_000_000)
			for spin > 0 {
				spin--
			}
			cancel()
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("it ended by itself")
	}
	if len(promised) == 0 {
		t.Fatal("it promised nothing")
	}
	return promised
}

func BenchmarkPut(b *testing.B) {
	source := func(n int, i int) []byte { // what sources look like to a compressor, more or less
		var out bytes.Buffer
		r := rand.New(rand.NewPCG(uint64(i), 3))
		words := strings.Fields("func return if err != nil { } switch case default range for := string int error " +
			"package import struct type")
		for out.Len() < n {
			out.WriteString(words[r.IntN(len(words))])
			out.WriteByte(" \n\t"[r.IntN(3)])
			if r.IntN(4) == 0 {
				fmt.Fprintf(&out, "name%x", r.Uint32())
			}
		}
		return out.Bytes()[:n]
	}
	for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("new/%dKB", size>>10), func(b *testing.B) {
			s := content.In(b.TempDir())
			c := source(size, size)
			b.SetBytes(int64(size))
			for i := 0; b.Loop(); i++ {
				copy(c, strconv.Itoa(i)+"\n")
				if _, err := s.Put(c); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("again/%dKB", size>>10), func(b *testing.B) {
			s := content.In(b.TempDir())
			c := source(size, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := s.Put(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
