package proxy

import "testing"

func TestDeny(t *testing.T) {
	t.Parallel()
	list, err := parseList([]string{"evil.example", "*.bad.example:8080"})
	if err != nil {
		t.Fatal(err)
	}
	for where, denied := range map[string]bool{
		"evil.example:443": true, "EVIL.example.:9000": true, "x.bad.example:8080": true,
		"x.bad.example:443": false, "good.example:443": false, "notevil.example:443": false,
	} {
		to, ok := parseTarget(where, 0)
		if !ok || list.denies(to) != denied {
			t.Errorf("%s: read %v, denied %v", where, ok, list.denies(to))
		}
	}
}
