//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installed is what programs here need to read.
func installed() []string {
	return []string{"/usr", "/bin", "/lib", "/lib64", "/sbin", "/etc", "/opt", "/sys/devices", "/sys/fs/cgroup",
		"/root/.pyenv"}
}

// listed has commands read their folder and what is installed.
func (r *room) listed() *room {
	r.conf.Readable, r.conf.Network.Project = append(installed(), r.ws), "a"
	return r
}

// TestHiddenUnlessListed: where it is said what a command reads, it reads nothing else, however it goes about it, and
// sees no
// processes but its own; what it needs of the machine it has.
func TestHiddenUnlessListed(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	for name, o := range lacking() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, o).workspace().listed()
			needLandlock(t, r)
			const secret = "only-b-may-know"
			b := filepath.Join(filepath.Dir(r.ws), "b")
			if err := os.Mkdir(b, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(b, "plan"), []byte(secret), 0o644); err != nil {
				t.Fatal(err)
			}
			other := exec.CommandContext(t.Context(), "sleep", "86398.5")
			other.Dir, other.Env = b, []string{"KEY=" + secret}
			if err := other.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = other.Process.Kill()
				_ = other.Wait()
			}()
			r.file("mine", "of a")
			proc := fmt.Sprintf("/proc/%d", other.Process.Pid)
			for _, command := range []string{
				"cat ../b/plan", "cat " + b + "/plan", "ls " + b, "ls ..", "cp ../b/plan .; cat plan",
				"ln -s ../b l; cat l/plan",
				"ln ../b/plan h; cat h", "mv ../b/plan .; cat plan", "cd ../b && cat plan", "cat < ../b/plan",
				python("print(open('../b/plan').read())"), python("print(os.listdir('../b'))"),
				python("d=os.open('../b',os.O_PATH|os.O_DIRECTORY); print(os.read(os.open('plan',0,dir_fd=d),99))"),
				"cat " + proc + "/cmdline", "cat " + proc + "/environ", "cat " + proc + "/status",
				"ls -la " + proc + "/cwd/",
				"cat " + proc + "/cwd/plan", "cat " + proc + "/root" + b + "/plan", "cat " + proc + "/fd/*",
				"grep -r only-b /proc/[0-9]*/environ /proc/[0-9]*/cmdline", "ps ax -o args",
				"find .. -name plan -exec cat {} +",
				"cat /proc/1/cmdline | tr '\\0' ' '", "git -C ../b status; git clone ../b x; cat x/plan",
				"mount --bind ../b x", "nsenter -t " + fmt.Sprint(other.Process.Pid) + " -a cat " + b + "/plan",
				"tar c ../b",
			} {
				out, _, _ := r.run(command)
				if strings.Contains(out, secret) || strings.Contains(out, "86398.5") ||
					strings.HasPrefix(command, "ls") && strings.Contains(out, "plan") {
					t.Errorf("%s\ntells %s", command, out)
				}
			}
			for command, want := range map[string]string{
				"cat mine": "of a", "ls": "mine", "echo x > n && cat n": "x", "echo y > $TMPDIR/n; cat $TMPDIR/n": "y",
				"cat <(echo sub)": "sub", "head -c4 /proc/self/comm": "head", "grep -c processor /proc/cpuinfo": "",
				"nproc": "",
				"echo | cat - /dev/null && head -c1 /dev/urandom | wc -c": "1", "python3 -c 'print(1+1)'": "2",
				"getent passwd root": "root", "bash -c 'echo $(( 1+2 ))'": "3",
			} {
				if out, code, _ := r.run(command); code != 0 || !strings.Contains(out, want) {
					t.Errorf("%s\nends with %d: %s", command, code, out)
				}
			}
		})
	}
}
