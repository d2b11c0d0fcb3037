package httpd

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// folders are those in which a server has agents work, by their real names, the usual one first.
type folders []string

// anywhere is what may be asked for from any folder: the one that is named does not say what is meant.
type anywhere interface{ Anywhere() bool }

// demanding is what needs more than its verb does, by what it says.
type demanding interface{ Needs() wire.Demand }

// admit refuses what a user may not send: folders and files outside, and what only an admin may ask for. A folder
// outside is the usual one if that is the only one: who calls from another machine stands in none of the server's.
//
// What only an admin may ask for reaches beyond a project: it takes an admin of the server.
func (g *ground) admit(verb string, in any) error {
	needs, err := g.look(reflect.ValueOf(in).Elem(), verb)
	if err != nil {
		return err
	}
	if needs.Right != "" && !g.c.Right.Covers(needs.Right) {
		return troupe.NotAllowedFor(needs.Right, needs.What)
	}
	return nil
}

// look goes through what was sent, at any depth.
func (g *ground) look(v reflect.Value, verb string) (needs wire.Demand, err error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return needs, nil
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return needs, nil
	}
	if d, ok := v.Addr().Interface().(demanding); ok {
		needs = d.Needs()
	}
	a, is := v.Addr().Interface().(anywhere)
	free := is && a.Anywhere()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		x := v.Field(i)
		switch {
		case isFolder(field):
			if err = g.bound(x, verb); err != nil && free && len(g.in) > 0 {
				x.SetString(g.in[0])
				g.at, err = cmp.Or(g.at, g.in[0]), nil
			}
		case isFiles(field):
			for j := range x.Len() {
				if err == nil {
					_, _, err = g.within(x.Index(j).String())
				}
			}
		default:
			var more wire.Demand
			if more, err = g.look(x, verb); more.Right != "" && !needs.Right.Covers(more.Right) {
				needs = more
			}
		}
		if err != nil {
			return needs, err
		}
	}
	return needs, nil
}

// isFolder and isFiles tell which fields of what is sent name something on the server's disk.
func isFolder(f reflect.StructField) bool {
	return f.Type.Kind() == reflect.String && (f.Name == "Cwd" || f.Name == "Folder")
}

func isFiles(f reflect.StructField) bool {
	return f.Name == "Paths" && f.Type == reflect.TypeFor[[]string]()
}

// bound has a field name one of the folders, or a folder in one.
func (g *ground) bound(x reflect.Value, verb string) error {
	named := x.String()
	real, lacks, err := g.within(named)
	everywhere := g.c.Right.Covers(g.needs)
	switch selects := verb == "list-sessions" || verb == "find-session"; { // it only says which are meant
	case err == nil:
	case lacks:
		return err
	case named == "" && (everywhere || selects) && verb != "begin" && verb != "set-schedule" && verb != "set-webhook":
		return nil
	case len(g.in) == 1 || named == "" && len(g.in) > 0:
		real = g.in[0]
	case selects:
		return nil
	default:
		return err
	}
	x.SetString(real)
	g.at = cmp.Or(g.at, real)
	return nil
}

// within is the real name of what lies in one of the folders.
func (f folders) within(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil && filepath.IsAbs(path) && troupe.WithinAny(real, f) {
		return real, nil
	}
	return "", f.outside(path)
}

func (f folders) outside(path string) error {
	return &troupe.UserError{
		Problem: fmt.Sprintf("this server has agents work in %s, and %.200q is in none of these", strings.Join(f, ", "),
			path),
		Hint: "Name one with --cwd.", Code: troupe.ExitPermission,
	}
}

var _ demanding = wire.Begin{}
