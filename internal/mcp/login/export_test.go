package login

import (
	"context"
	"net/http"
)

// Reaches asks an address as the login does.
func (l *Login) Reaches(ctx context.Context, address string) error {
	c, err := l.client()
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := c.Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
