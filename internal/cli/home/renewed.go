package home

import (
	"crypto/tls"
	"os"
	"sync"
	"time"
)

// renewed is a certificate in files that are replaced now and then.
type renewed struct {
	cert, key string

	mu   sync.Mutex
	at   time.Time // of the file that have is from
	have *tls.Certificate
}

// get is the certificate that the files hold now. While they cannot be used, as between the writes of the two, the last
// one goes on.
func (r *renewed) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := os.Stat(r.cert)
	if err == nil && r.have != nil && info.ModTime().Equal(r.at) {
		return r.have, nil
	}
	var c tls.Certificate
	if err == nil {
		c, err = tls.LoadX509KeyPair(r.cert, r.key)
	}
	switch {
	case err == nil:
		r.have, r.at = &c, info.ModTime()
	case r.have == nil:
		return nil, err
	}
	return r.have, nil
}
