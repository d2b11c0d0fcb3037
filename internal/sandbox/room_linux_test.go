//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// What comes to lie in a room while a command runs is not the command's to see; its own folder there is.
func TestHiddenRoom(t *testing.T) {
	t.Parallel()
	r, _ := attackedRoom(t)
	room := filepath.Join(filepath.Dir(r.ws), "room")
	own := filepath.Join(room, "own")
	for _, dir := range []string{own, filepath.Join(room, "before")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "words"), []byte("words of "+dir), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.conf.Rooms = []troupe.Room{{Folder: room, Own: own}}
	r.conf.Writable, r.conf.Scratchpad = append(r.conf.Writable, own), own
	r.conf.Hidden = append(r.conf.Hidden, filepath.Join(room, "before"))
	r.env = append(r.env, "ROOM="+room)
	for _, pipe := range []string{"ready", "go"} {
		if err := unix.Mkfifo(filepath.Join(own, pipe), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	go func() { // each waits for the other at the pipes
		_, _ = os.ReadFile(filepath.Join(own, "ready"))
		late := filepath.Join(room, "late")
		_ = os.Mkdir(late, 0o700)
		_ = os.WriteFile(filepath.Join(late, "words"), []byte("words of late"), 0o600)
		_ = os.WriteFile(filepath.Join(own, "go"), nil, 0o600)
	}()
	out, _, _ := r.brief("echo > $ROOM/own/ready; cat $ROOM/own/go; ls $ROOM; cat $ROOM/*/words; cat " +
		"$ROOM/late/words $ROOM/before/words; ln $ROOM/late/words $ROOM/own/l; ln -s ../late $ROOM/own/s; " +
		"cat $ROOM/own/l $ROOM/own/s/words; mkdir $ROOM/new; echo x > $ROOM/own/mine && cat $ROOM/own/mine && " +
		"mkdir $ROOM/own/d && mv $ROOM/own/mine $ROOM/own/d && echo MOVED")
	if strings.Contains(out, "words of late") || strings.Contains(out, "words of "+filepath.Join(room, "before")) {
		t.Errorf("it was shown\n%s", out)
	}
	if !strings.Contains(out, "words of "+own) || !strings.Contains(out, "MOVED") {
		t.Errorf("its own is not\n%s", out)
	}
	if exists(filepath.Join(room, "new")) || exists(filepath.Join(own, "l")) {
		t.Errorf("made\n%s", out)
	}
}
