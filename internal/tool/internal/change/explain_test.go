package change

import "testing"

func TestNearName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		all  []string
		want string
	}{
		{"none.txt", []string{"big.txt"}, ""}, // what they share is what kind of file they are
		{"cart.go", []string{"main.go", "auth.go"}, ""},
		{"logn.go", []string{"main.go", "login.go"}, "login.go"},
		{"Login.GO", []string{"login.go"}, "login.go"},
		{"b.txt", []string{"a.txt"}, "a.txt"},
		{"notes.md", []string{"notes.mdx", "other.md"}, "notes.mdx"},
		{"ab.properties", []string{"xy.properties"}, ""},
		{"Makefil", []string{"Makefile", "x"}, "Makefile"},
		{".gitignroe", []string{".gitignore"}, ".gitignore"},
		{"x", nil, ""},
	} {
		if got := nearName(c.name, c.all); got != c.want {
			t.Errorf("for %s of %v it is %q, want %q", c.name, c.all, got, c.want)
		}
	}
}
