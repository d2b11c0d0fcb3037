package home

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// TestAddress: what is taken for an address of a server, and as which. A token goes nowhere in the clear.
func TestAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://Troupe.example.com/":  "https://troupe.example.com",
		"troupe.example.com":           "https://troupe.example.com",
		"troupe.example.com:7777":      "https://troupe.example.com:7777",
		"127.0.0.1:7777":               "http://127.0.0.1:7777",
		"localhost:7777":               "http://localhost:7777",
		"http://[::1]:7777":            "http://[::1]:7777",
		"https://127.0.0.1:7777":       "https://127.0.0.1:7777",
		"http://troupe.example.com":    "",
		"http://10.0.0.1:7777":         "",
		"http://127.evil.example":      "",
		"http://127.0.0.1.evil.com":    "",
		"ftp://127.0.0.1":              "",
		"https://me@troupe.example":    "",
		"https://troupe.example/v1":    "",
		"https://troupe.example?x=1":   "",
		"https://troupe.example#x":     "",
		"https://":                     "",
		"/tmp/x":                       "",
		"":                             "",
		"https://troupe.example:bogus": "",
	} {
		got, err := Address(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
}

// TestServer: what the flag says goes before the environment, and that before what was chosen at a login.
func TestServer(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	variable := ""
	lookup := func(name string) (string, bool) {
		switch name {
		case "TROUPE_HOME":
			return home, true
		case serverVariable:
			return variable, variable != ""
		}
		return "", false
	}
	want := func(flag, address string) {
		t.Helper()
		if got, err := Server(flag, lookup); got != address || err != nil {
			t.Errorf("with --server %q and %q it is %q, %v; want %q", flag, variable, got, err, address)
		}
	}
	want("", "")
	l, err := loginsOf(lookup)
	if err != nil {
		t.Fatal(err)
	}
	l.Chosen = "https://chosen.example"
	l.Servers[l.Chosen] = Login{Token: "secret"}
	if err := l.save(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(l.file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of tokens: %v, %v", info.Mode(), err)
	}
	want("", "https://chosen.example")
	want(Here, "")
	variable = "other.example"
	want("", "https://other.example")
	want("third.example", "https://third.example")
	variable = Here
	want("", "")
	if err := os.WriteFile(l.file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	variable = ""
	if _, err := Server("", lookup); err == nil || !strings.Contains(err.Error(), "log in again") {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

// TestCertificateIsRenewed: a certificate is read again when its file has changed; one that cannot be used is none, and
// the one before goes on.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if _, err := certificate(cert, key); !errors.As(err, new(*troupe.UserError)) {
		t.Errorf("without files: %v", err)
	}
	if _, err := certificate(cert, ""); err == nil || !strings.Contains(err.Error(), "go together") {
		t.Errorf("without a key: %v", err)
	}
	writePair(t, cert, key, 1)
	c, err := certificate(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		t.Helper()
		got, err := c.GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		x, err := x509.ParseCertificate(got.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return x.SerialNumber.Int64()
	}
	changed := func(n time.Duration) {
		t.Helper()
		at := time.Unix(1_700_000_000, 0).Add(n)
		if err := os.Chtimes(cert, at, at); err != nil {
			t.Fatal(err)
		}
	}
	changed(time.Second)
	if n := serial(); n != 1 {
		t.Errorf("the certificate is %d", n)
	}
	writePair(t, cert, key, 2)
	changed(2 * time.Second)
	if n := serial(); n != 2 {
		t.Errorf("the renewed certificate is %d", n)
	}
	if err := os.WriteFile(cert, []byte("half a fi"), 0o600); err != nil {
		t.Fatal(err)
	}
	changed(3 * time.Second)
	if n := serial(); n != 2 {
		t.Errorf("while the file is written it is %d", n)
	}
	writePair(t, cert, key, 3)
	changed(4 * time.Second)
	if n := serial(); n != 3 {
		t.Errorf("after that it is %d", n)
	}
}

func writePair(t *testing.T, cert, key string, serial int64) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "troupe"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(k)
	err = errors.Join(err,
		os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}), 0o600))
	if err != nil {
		t.Fatal(err)
	}
}
