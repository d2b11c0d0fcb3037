//go:build amd64 || arm64

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// BenchmarkAgainstPlain starts the same program in all ways in turn, so that what else the
// machine does falls on all alike, and reports medians.
func BenchmarkAgainstPlain(b *testing.B) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	type way struct {
		name string
		room *room
	}
	guarded := func(r *room) *room {
		for _, f := range []string{".git/hooks/x", ".git/config", ".claude/settings.json", ".env"} {
			r.file(f, "x")
		}
		for _, f := range []string{".git/hooks", ".git/config", ".claude", ".troupe", ".mcp.json", ".bashrc"} {
			r.conf.Protected = append(r.conf.Protected, filepath.Join(r.ws, f))
		}
		r.conf.Hidden = []string{filepath.Join(r.ws, ".env"), r.home, filepath.Join(r.home, "none")}
		return r
	}
	ways := []way{
		{"plain", nil}, {"read-only", newRoom(b, Options{})}, {"read-only+hidden", guarded(newRoom(b, Options{}))},
		{"workspace", guarded(newRoom(b, Options{}).workspace())},
		{"workspace+rooms", inRooms(b, guarded(newRoom(b, Options{}).workspace()))},
		{"read-only+listed", newRoom(b, Options{}).listed()},
		{"workspace+rooms+listed", inRooms(b, guarded(newRoom(b, Options{}).workspace()).listed())},
		{"workspace-without-namespaces", guarded(newRoom(b, Options{NoNamespaces: true}).workspace())},
	}
	needLandlock(b, ways[1].room)
	for _, argv := range [][]string{{"true"}, {"bash", "-c", ":"},
		{"bash", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do cat /etc/hostname >/dev/null; done"}} {
		bin, err := exec.LookPath(argv[0])
		if err != nil {
			b.Skip(err)
		}
		b.Run(argv[0]+argv[len(argv)-1][:1], func(b *testing.B) {
			took := map[string][]time.Duration{}
			for b.Loop() {
				for _, w := range ways {
					attr := &os.ProcAttr{Env: []string{"PATH=/usr/bin:/bin"}, Files: []*os.File{null, null, null}}
					began := time.Now()
					if w.room == nil {
						p, err := os.StartProcess(bin, argv, attr)
						if err != nil {
							b.Fatal(err)
						}
						_, _ = p.Wait()
					} else {
						c, err := w.room.box.Start(w.room.conf, bin, argv, attr)
						if err != nil {
							b.Fatal(err)
						}
						_, _ = c.Process().Wait()
						c.Done()
					}
					took[w.name] = append(took[w.name], time.Since(began))
				}
			}
			for name, all := range took {
				slices.Sort(all)
				b.ReportMetric(float64(all[len(all)/2].Microseconds()), name+"-µs")
			}
		})
	}
}

// inRooms has two rooms, as most commands do.
func inRooms(b *testing.B, r *room) *room {
	b.Helper()
	for range 2 {
		dir := b.TempDir()
		own := filepath.Join(dir, "own")
		if err := os.Mkdir(own, 0o700); err != nil {
			b.Fatal(err)
		}
		r.conf.Rooms = append(r.conf.Rooms, troupe.Room{Folder: dir, Own: own})
	}
	return r
}

// BenchmarkOpens opens many files, which costs a confined command next to nothing to read,
// and one answer each to write.
func BenchmarkOpens(b *testing.B) {
	has(b, "python3")
	for _, mode := range []string{"O_RDONLY", "O_WRONLY"} {
		for _, plain := range []bool{true, false} {
			name := mode + "/confined"
			if plain {
				name = mode + "/plain"
			}
			b.Run(name, func(b *testing.B) {
				r := newRoom(b, Options{}).workspace()
				needLandlock(b, r)
				r.file("f", "x")
				command := python("for i in range(10000): os.close(os.open('f',os." + mode + "))")
				for b.Loop() {
					if plain {
						r.plain(command)
					} else {
						r.run(command)
					}
				}
			})
		}
	}
}

// BenchmarkMakes makes files in a folder, writes them, renames them and removes them: four answers
// for each.
func BenchmarkMakes(b *testing.B) {
	has(b, "python3")
	for _, way := range []string{"plain", "temp", "workspace"} {
		b.Run(way, func(b *testing.B) {
			r := newRoom(b, Options{}).workspace()
			needLandlock(b, r)
			r.conf.Guarded = func(path string) string {
				if filepath.Base(path) == ".git" {
					return "it is git's"
				}
				return ""
			}
			dir := r.ws
			if way == "temp" {
				dir = r.temp
			}
			command := "cd " + dir + "; " + python(`
for i in range(2000):
    with open('f','w') as f: f.write('x')
    os.rename('f','g'); os.unlink('g')`)
			for b.Loop() {
				if way == "plain" {
					r.plain(command)
				} else {
					r.run(command)
				}
			}
		})
	}
}
