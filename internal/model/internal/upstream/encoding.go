package upstream

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

// plain has the body of an answer read as it was before it was compressed. We do not ask for that, but some
// gateways do it all the same. What is read is bounded by who reads it, after it was unpacked.
func (c *Client) plain(res *http.Response) error {
	switch encoding := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		res.Body = &unzipped{body: res.Body}
	default:
		return &model.Error{Fault: troupe.FaultBad, Message: c.Clean(fmt.Sprintf("%s answered in the encoding %q, "+
			"which "+
			"was not asked for and is not known here; have what stands before the service leave its answers as they "+
			"are",
			c.o.Service, encoding))}
	}
	return nil
}

// unzipped is a body that comes compressed. Its header is read with the first bytes that are wanted, so that
// waiting for it is waiting for the stream.
type unzipped struct {
	body io.ReadCloser
	zip  *gzip.Reader
}

func (u *unzipped) Read(p []byte) (int, error) {
	if u.zip == nil {
		zip, err := gzip.NewReader(u.body)
		if err != nil {
			return 0, err
		}
		u.zip = zip
	}
	return u.zip.Read(p)
}

func (u *unzipped) Close() error { return u.body.Close() }
