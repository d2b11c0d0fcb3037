//go:build unix

package httpd

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
)

// What a test's own program does when it is started as a helper.
const (
	helperEnv = "HTTPD_TEST_HELPER"
	tokenEnv  = "HTTPD_TEST_TOKEN" // what call comes with
	callIt    = "call"             // ask the server for the tasks, and print the status and the body
	leaveIt   = "orphan"
	connectIt = "connect" // connect, and end without a word
)

func TestMain(m *testing.M) {
	switch os.Getenv(helperEnv) {
	case "":
		goleak.VerifyTestMain(m)
	case callIt:
		os.Exit(call(os.Args[1], os.Args[2:]))
	case leaveIt:
		os.Exit(orphan())
	case connectIt:
		os.Exit(connect(os.Args[1]))
	}
}

// call asks the server on a socket, from this process. With an argument it waits until it has
// another parent than that process.
func call(socket string, args []string) int {
	if len(args) > 0 {
		parent, err := strconv.Atoi(args[0])
		if err != nil {
			return 1
		}
		for os.Getppid() == parent {
			runtime.Gosched()
		}
	}
	c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}
	req, err := http.NewRequest(http.MethodGet, "http://troupe/v1/tasks", nil)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if token := os.Getenv(tokenEnv); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(req)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	body, err := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, string(body), err)
	return 0
}

func connect(socket string) int {
	if _, err := net.Dial("unix", socket); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("connected")
	return 0
}

// orphan starts a caller in a session of its own and leaves it to init. Everything it needs
// for that is in its own environment, as it would be in an agent's command.
func orphan() int {
	cmd := exec.Command(os.Args[0], os.Args[1], strconv.Itoa(os.Getpid()))
	cmd.Env = append(os.Environ(), helperEnv+"="+callIt)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0 // without waiting: its parent is gone
}

// helper runs this program as a helper until everything it started has closed its output.
func helper(t *testing.T, what, socket string, env ...string) (status int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], socket)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, troupe.AgentVariable+"=") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(append(cmd.Env, env...), helperEnv+"="+what, "GORACE=atexit_sleep_ms=0")
	b, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", what, err, b)
	}
	text, rest, _ := strings.Cut(string(b), " ")
	if status, err = strconv.Atoi(text); err != nil {
		t.Fatalf("%s says %s", what, b)
	}
	return status, rest
}
