package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdCall calls a server at $ADDRESS as a program does that has $TOKEN. The file is sent as it is, but for variables of
// the script.
func cmdCall(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, "call STATUS METHOD PATH [FILE]")
	var body io.Reader
	if len(args) > 3 {
		body = strings.NewReader(os.Expand(ts.ReadFile(args[3]), ts.Getenv))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, args[1], ts.Getenv("ADDRESS")+args[2], body)
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	if token := ts.Getenv("TOKEN"); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	ts.Check(err)
	_, err = ts.Stdout().Write(answer)
	ts.Check(err)
	if fmt.Sprint(resp.StatusCode) != args[0] {
		ts.Fatalf("it is answered with %d: %s", resp.StatusCode, answer)
	}
}
