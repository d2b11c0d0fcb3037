package httpd

import (
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
func (f folders) admit(c troupe.Caller, verb string, in any) error {
	needs, err := f.look(reflect.ValueOf(in).Elem(), verb)
	if err != nil {
		return err
	}
	if needs.Right != "" && !c.Right.Covers(needs.Right) {
		return troupe.NotAllowedFor(needs.Right, needs.What)
	}
	return nil
}

// look goes through what was sent, at any depth.
func (f folders) look(v reflect.Value, verb string) (needs wire.Demand, err error) {
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
			if err = f.bound(x, verb); err != nil && free {
				x.SetString(f[0])
				err = nil
			}
		case isFiles(field):
			for j := range x.Len() {
				if err == nil {
					_, err = f.within(x.Index(j).String())
				}
			}
		default:
			var more wire.Demand
			if more, err = f.look(x, verb); more.Right != "" && !needs.Right.Covers(more.Right) {
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
func (f folders) bound(x reflect.Value, verb string) error {
	named := x.String()
	real, err := f.within(named)
	switch {
	case err == nil:
		x.SetString(real)
	case named == "" && verb != "begin" && verb != "set-schedule" && verb != "set-webhook":
	case len(f) == 1 || named == "":
		x.SetString(f[0])
	case verb == "list-sessions" || verb == "find-session": // it only says which are meant
	default:
		return err
	}
	return nil
}

// within is the real name of what lies in one of the folders.
func (f folders) within(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil && filepath.IsAbs(path) && troupe.WithinAny(real, f) {
		return real, nil
	}
	return "", &troupe.UserError{
		Problem: fmt.Sprintf("this server has agents work in %s, and %.200q is in none of these", strings.Join(f, ", "),
			path),
		Hint: "Name one with --cwd.", Code: troupe.ExitPermission,
	}
}

var _ demanding = wire.Begin{}
