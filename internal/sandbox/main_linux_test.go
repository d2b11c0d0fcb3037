//go:build amd64 || arm64

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// otherEnv marks a run of these tests as an ordinary user.
const otherEnv = "SANDBOX_TEST_OTHER"

func TestMain(m *testing.M) {
	if way := os.Getenv(deceiverEnv); way != "" {
		deceive(way)
		return
	}
	goleak.VerifyTestMain(m)
}

// Most machines run commands as an ordinary user, who needs a user namespace to have mounts;
// the tests of others often run as root.
func TestAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 || os.Getenv(otherEnv) != "" {
		t.Skip("this is one")
	}
	if testing.Short() {
		t.Skip("without -short it runs")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "sandbox-other")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	const user = 54321
	binary := filepath.Join(dir, "test")
	// A process that another test forks meanwhile would have it open for writing, and it could not be started.
	syscall.ForkLock.RLock()
	err = os.WriteFile(binary, data, 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, user, user); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "-test.short", "-test.v", "-test.run",
		"ReadOnly|Others|Usual|Workspace|Hidden|Grants|Smoke|Bounds|Network|Quiet|Ports|Sockets|SetID|TheirGroup")
	cmd.Dir = home
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "TMPDIR=" + home, otherEnv + "=1",
		allAttacks + "=" + os.Getenv(allAttacks)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
