//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestNetworkApart: a command of a project reaches whom it may, and sees the sockets of nobody else.
func TestNetworkApart(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	if !privileged() {
		t.Skip("who may not mount enters no other network")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintln(c, "hello") // who asked tells
			_ = c.Close()
		}
	}()
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal(l.Addr())
	}
	port := at.Port
	hex := fmt.Sprintf(":%04X ", port)
	r := newRoom(t, Options{}).workspace().listed()
	needLandlock(t, r)
	read := python(fmt.Sprintf("print('it says', socket.create_connection(('127.0.0.1',%d)).recv(9))", port))
	seen := "cat /proc/net/tcp /proc/net/unix /proc/[0-9]*/net/tcp; " + python(`
import struct
try:
    s=socket.socket(16,3,4) # what sockets there are, by netlink
    s.send(struct.pack('IHHII',72,20,0x301,1,0)+struct.pack('BBBBI',2,6,0,0,0xffffffff)+bytes(48))
    over=False
    while not over:
        d=s.recv(1<<20)
        while d and not over:
            n,kind=struct.unpack('IH',d[:6]); over=kind in (2,3) # an error, or the end
            if not over: print('port :%04X ' % struct.unpack('>H',d[20:22]))
            d=d[(n+3)&~3:]
    print('asked')
except OSError as e: print(e)`)
	raw := python(`
for kind,protocol in ((3,255),(10,768),(3,1)):
    try: socket.socket(2,kind,protocol); print('raw')
    except OSError as e: print(e.errno)`)
	for name, n := range map[string]troupe.Network{"nobody": {}, "all": {All: true}, "port": {Ports: []int{port}},
		"address": {Addresses: []string{l.Addr().String()}}} {
		n.Project = "a"
		r.conf.Network = n
		out, _, _ := r.run(read)
		if got := strings.Contains(out, "hello"); got != (name != "nobody") {
			t.Errorf("with leave for %s it is told %s", name, out)
		}
		if out, _, _ := r.run(seen); strings.Contains(out, hex) || !strings.Contains(out, "local_address") {
			t.Errorf("with leave for %s it sees %s", name, out)
		}
		if out, _, _ := r.run(raw); strings.Contains(out, "raw") || !strings.Contains(out, "DONE") {
			t.Errorf("with leave for %s it has %s", name, out)
		}
	}
	r.conf.Network = troupe.Network{Project: "a", All: true}
	out, code, _ := r.run("sleep 0; (echo of mine; sleep 1) | python3 -c '" + `
import socket,os,sys,threading
s=socket.socket(); s.bind(("127.0.0.1",0)); s.listen()
c=socket.create_connection(s.getsockname()); c.send(b"loop"); print(s.accept()[0].recv(9))
u=socket.socket(socket.AF_UNIX); u.bind("own.sock"); u.listen()
v=socket.socket(socket.AF_UNIX); v.connect("own.sock"); v.send(b"local"); print(u.accept()[0].recv(9))
found=socket.getaddrinfo("localhost",80,type=socket.SOCK_STREAM,flags=socket.AI_ADDRCONFIG)
print(found[0][4][1], socket.if_nameindex()[0][1])
f=socket.socket(); print(os.get_inheritable(f.fileno()), f.getblocking())` +
		"'")
	if code != 0 || !strings.Contains(out, "loop") || !strings.Contains(out, "local") ||
		!strings.Contains(out, "80 lo") || !strings.Contains(out, "False True") {
		t.Errorf("in the network ends with %d: %s", code, out)
	}
}
