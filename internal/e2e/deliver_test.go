package e2e_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdDeliver posts a file as a forge or another program does that knows $SECRET. HOW is github, gitlab, standard, or
// stale, which is standard with a time of six minutes ago.
func cmdDeliver(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 5, "deliver STATUS URL HOW ID FILE [HEADER VALUE]")
	body := []byte(ts.ReadFile(args[4]))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, args[1], bytes.NewReader(body))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	secret, id, at := ts.Getenv("SECRET"), args[3], time.Now()
	mac := func(key []byte, parts ...string) []byte {
		h := hmac.New(sha256.New, key)
		for _, p := range parts {
			h.Write([]byte(p))
		}
		return h.Sum(nil)
	}
	switch args[2] {
	case "github":
		req.Header.Set("X-Github-Delivery", id)
		req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac([]byte(secret), string(body))))
	case "gitlab":
		req.Header.Set("X-Gitlab-Token", secret)
		req.Header.Set("X-Gitlab-Event-UUID", id)
	case "stale":
		at = at.Add(-6 * time.Minute)
		fallthrough
	case "standard":
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		ts.Check(err)
		stamp := fmt.Sprint(at.Unix())
		req.Header.Set("Webhook-Id", id)
		req.Header.Set("Webhook-Timestamp", stamp)
		req.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac(key, id, ".", stamp, ".",
			string(body))))
	default:
		ts.Fatalf("there is no signature %s", args[2])
	}
	for i := 5; i+1 < len(args); i += 2 {
		req.Header.Set(args[i], args[i+1])
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
