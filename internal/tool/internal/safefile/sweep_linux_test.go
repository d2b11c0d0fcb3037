package safefile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const writerEnv = "TROUPE_SAFEFILE_WRITER"

// TestKilledWriter kills processes that write a file at random moments. Nothing of theirs is left in the folder
// when the next one has swept it, and the file is whole at each moment.
func TestKilledWriter(t *testing.T) {
	if dir := os.Getenv(writerEnv); dir != "" {
		writeForEver(dir)
	}
	t.Parallel()
	dir := t.TempDir()
	foreign := filepath.Join(dir, fmt.Sprintf("%s%d-x%s", tempPrefix, os.Getpid(), tempSuffix)) // of a living process
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	left := 0
	for range 20 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestKilledWriter$")
		cmd.Env = append(os.Environ(), writerEnv+"="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(dir, "file")
		for begun := time.Now(); time.Since(begun) < 10*time.Second; {
			if _, err := os.Stat(target); err == nil {
				break
			}
		}
		time.AfterFunc(time.Duration(rand.IntN(20))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // it was killed
		b, err := os.ReadFile(target)
		if err != nil || len(b) != size || bytes.Count(b, b[:1]) != size {
			t.Fatalf("the file has %d bytes, %v", len(b), err)
		}
		now, err := filepath.Glob(filepath.Join(dir, tempPrefix+"*"))
		if err != nil {
			t.Fatal(err)
		}
		left += len(now) - 1
		Sweep(dir)
		now, err = filepath.Glob(filepath.Join(dir, tempPrefix+"*"))
		if err != nil || len(now) != 1 || now[0] != foreign {
			t.Fatalf("left over: %v, %v", now, err)
		}
	}
	t.Logf("%d of 20 left a file until the next start", left)
}

const size = 1 << 20

func writeForEver(dir string) {
	f, err := OpenFolder(dir)
	for i := byte(0); err == nil; i++ {
		var name string
		if name, err = f.Temp(bytes.Repeat([]byte{i}, size), nil); err == nil {
			err = f.Replace(name, "file")
		}
	}
	panic(err)
}

// TestSweptByTheNextWriter: the first file that a process writes into a folder removes what killed ones left there.
func TestSweptByTheNextWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const dead = 1 << 22 // more than any process number here
	left := filepath.Join(dir, fmt.Sprintf(".troupe-%d-abc.tmp", dead))
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	name, err := f.Temp([]byte("x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(left); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
	if err := f.Replace(name, "x"); err != nil {
		t.Error(err)
	}
}
