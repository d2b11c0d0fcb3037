package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/store/postgres/pgtest"
	"github.com/troupe-dev/troupe/internal/wire"
)

var (
	tortureKills  = flag.Int("kills", 10, "how often TestTorture kills, stops or cuts off a process")
	tortureAgents = flag.Int("agents", 30, "how many agents it has at work")
	tortureKeep   = flag.String("keep", "", "a folder where all is kept of a torture that fails")
)

// tortureSchema is where the tables are.
const tortureSchema = "torture"

// torture is a server, three workers and their database, the trees at work there, and what is done to them.
type torture struct {
	*place

	pg      *pgtest.Server
	server  *node
	workers []*node
	logs    string
	ledger  string
	address string
	client  *client.Client
	trees   []*tortured
	faults  []*fault
	began   time.Time

	done     atomic.Int64 // faults, so far
	lasting  sync.WaitGroup
	mu       sync.Mutex
	roots    map[string]troupe.SessionID // by the key of the tree, as is
	told     map[string]heard
	revived  int            // trees that were parked, and set going again
	answered map[string]int // errors of calls, which were made again
}

// TestTorture: a server and three workers on PostgreSQL, each of which reaches it by a cable of its own. Agents of
// trees of all shapes, asked for over the API, by a schedule and a webhook, write files by tools, many of them in
// worktrees. Meanwhile workers are killed, stopped and cut off from the database, the server is killed, and the
// database goes down and comes back, at moments nobody chose. Each tree comes to its end: all of its sessions have
// completed, and no other end is right, for nothing here fails by itself. A tree may be parked on its way, after three
// take-overs within two minutes, as docs/operating.md says; words set it going again, as an operator's do. Each effect
// took place once, or its call is told as interrupted, and then once at the most. Each folder and each branch holds
// what the logs say, the rows of the database are what the logs fold to, and nothing is left of processes, folders and
// leases. TROUPE_E2E_SEED draws the same trees and the same moments again; what happens between the processes then is
// as the machine has it.
func TestTorture(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git: nothing was tortured")
	}
	rng := lots(t)
	pg, err := pgtest.Start(t.Context(), "fsync=off", "max_connections=200")
	if err != nil {
		t.Skip(err) // `make test` says so in the end
	}
	r := &torture{place: newPlace(t), pg: pg, roots: map[string]troupe.SessionID{}, told: map[string]heard{},
		answered: map[string]int{}, began: time.Now()}
	t.Cleanup(func() { r.fine("stop PostgreSQL", pg.Stop()) })
	t.Cleanup(r.keep)
	var dirs []string
	for _, name := range []string{"garden", "house"} {
		dirs = append(dirs, filepath.Join(r.root, name))
	}
	r.ledger, r.logs = filepath.Join(r.root, "ledger"), filepath.Join(r.root, "logs")
	longest := 8 * time.Second
	if *tortureKills <= 10 {
		longest /= 2 // it is a process's death all the same: that takes three seconds
	}
	r.faults = draw(rng, *tortureKills, *tortureKills/10, longest)
	r.trees = cast(rng, *tortureAgents, dirs, r.ledger)
	for _, dir := range []string{r.logs, r.temp(), filepath.Join(r.root, "server")} {
		r.fine("make a folder", os.Mkdir(dir, 0o700))
	}
	r.write("../ledger", "")
	r.write("../home/settings.json", `{"agents": {"max_depth": 2}}`)
	for _, dir := range dirs {
		r.project(dir)
	}
	r.environ = append(r.environ, "TMPDIR="+r.temp(), "TROUPE_DATABASE="+pg.Address(tortureSchema))
	r.start(dirs)
	r.torment()
	r.end()
	r.judge()
}

// sql asks the database itself.
func (r *torture) sql(text string) (string, error) {
	return r.pg.Script("SET search_path TO " + tortureSchema + "; " + text)
}

// fine ends the test for what is the test's own trouble.
func (r *torture) fine(what string, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%s: %v", what, err)
	}
}

func (r *torture) temp() string { return filepath.Join(r.root, "tmp") }

func (r *torture) nodes() []*node { return append(slices.Clip(r.workers), r.server) }

// keep saves what there is to look at where something failed.
func (r *torture) keep() {
	if !r.t.Failed() || *tortureKeep == "" {
		return
	}
	to := filepath.Join(*tortureKeep, time.Now().Format("150405"))
	out, err := exec.Command("cp", "-a", r.root, to).CombinedOutput()
	if err != nil {
		r.t.Logf("keep what failed: %v: %s", err, out)
	}
	for key, root := range r.roots {
		cmd := exec.Command(binary, "log", string(root), "--tree", "--json")
		cmd.Dir, cmd.Env = r.dir, r.environ
		log, lerr := cmd.Output()
		err = errors.Join(err, lerr, os.WriteFile(filepath.Join(to, key+".jsonl"), log, 0o600))
	}
	dump, serr := r.sql("SELECT root, id, name, status, waiting, cause, " +
		"run, seq, error, owner, epoch FROM sessions ORDER BY born; SELECT * FROM records; SELECT * FROM owners")
	err = errors.Join(err, serr, os.WriteFile(filepath.Join(to, "rows"), []byte(dump), 0o600))
	r.t.Logf("all is kept in %s (%v)", to, err)
}

// project makes a repository with the scripts of its trees and a file for each agent.
func (r *torture) project(dir string) {
	files := map[string]string{}
	for _, p := range r.trees {
		if p.dir != dir {
			continue
		}
		files[p.script()] = p.text()
		for _, agent := range p.agents {
			files[agent+".md"] = "END\n"
		}
	}
	for name, text := range files {
		r.write(filepath.Join("..", filepath.Base(dir), name), text)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "A"},
		{"config", "user.email", "a@b"}, {"add", "-A"}, {"commit", "-qm", "first"}} {
		r.git(append([]string{"-C", dir}, args...)...)
	}
}

// start begins the server and the workers.
func (r *torture) start(dirs []string) {
	at, err := url.Parse(r.pg.Address(tortureSchema))
	r.fine("read an address", err)
	socket := filepath.Join(at.Query().Get("host"), ".s.PGSQL.5432")
	node := func(name string, env []string, args ...string) *node {
		c, err := newCable(socket)
		r.fine("lay a cable", err)
		args = append(args, "--log-format", "json", "--database", "postgres://troupe@"+c.l.Addr().String()+
			"/postgres?sslmode=disable&search_path="+tortureSchema)
		for _, dir := range dirs {
			args = append(args, "--folder", dir)
		}
		n, err := newNode(name, r.logs, c, func() *exec.Cmd {
			cmd := exec.Command(binary, args...)
			cmd.Dir, cmd.Env = dirs[0], slices.DeleteFunc(slices.Concat(r.environ, env), func(kv string) bool {
				return strings.HasPrefix(kv, "TROUPE_DATABASE=")
			})
			if r.address != "" && name == "server" { // where it was before
				cmd.Args = append(cmd.Args, "--listen", strings.TrimPrefix(r.address, "http://"))
			}
			return cmd
		})
		r.fine("start "+name, err)
		return n
	}
	r.server = node("server", []string{"TROUPE_HOME=" + filepath.Join(r.root, "server")}, "serve", "--workers-only",
		"--listen", "127.0.0.1:0")
	address := r.said(r.server, `serves at (http://\S+)`)
	in, err := client.SignIn(r.t.Context(), address, wire.SignIn{Code: r.said(r.server,
		`(?m)^  ([a-z0-9]{8}-[a-z0-9]{8}-[a-z0-9]{8})$`)})
	r.fine("log in", err)
	r.server.mu.Lock()
	r.address = address
	r.server.mu.Unlock()
	r.client = client.At(address, in.Token)
	for i := range 3 {
		r.workers = append(r.workers, node(fmt.Sprintf("worker%d", i+1), nil, "worker"))
		r.said(r.workers[i], `(This worker is ready)`)
	}
}

// said waits for words of a process, and is what their group holds.
func (r *torture) said(n *node, expression string) string {
	r.t.Helper()
	re := regexp.MustCompile(expression)
	for from := time.Now(); time.Since(from) < patience; <-time.After(10 * time.Millisecond) {
		text, err := os.ReadFile(n.log.Name())
		r.fine("read a log", err)
		if m := re.FindStringSubmatch(string(text)); m != nil {
			return m[1]
		}
	}
	r.t.Fatalf("%s does not say %s", n.name, expression)
	return ""
}

// torment has the trees work while the faults come, and waits until all is over. Trees begin as the faults go on, so
// that there is always something at work.
func (r *torture) torment() {
	ctx, cancel := context.WithTimeout(r.t.Context(), 3*patience+5*time.Second*time.Duration(len(r.faults)))
	defer cancel()
	var work sync.WaitGroup
	for i, p := range r.trees {
		work.Go(func() {
			for int(r.done.Load())*len(r.trees) < (i-2)*len(r.faults) {
				<-time.After(50 * time.Millisecond)
			}
			if err := r.drive(ctx, p); err != nil {
				r.t.Errorf("tree %s, which began by %s, does not come to its end: %v", p.key, p.by, err)
			}
		})
	}
	for _, f := range r.faults {
		<-time.After(f.after)
		if err := r.put(f); err != nil {
			r.t.Errorf("%s: %v", f.kind, err)
		}
		r.done.Add(1)
	}
	r.lasting.Wait()
	work.Wait()
	for key, root := range r.roots {
		err := r.try(ctx, "read", func() (err error) { r.told[key], err = r.hear(ctx, root); return err })
		if err != nil {
			r.t.Errorf("read tree %s: %v", key, err)
		}
	}
}

// drive has a tree begin, and waits for its end as an operator does that looks after it.
func (r *torture) drive(ctx context.Context, p *tortured) error {
	root, err := r.born(ctx, p)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.roots[p.key] = root
	r.mu.Unlock()
	for n := 0; ; n++ {
		err := r.try(ctx, "wait", func() error {
			err := r.client.Wait(ctx, root)
			if err == nil {
				return nil
			}
			if t, terr := r.client.Tree(ctx, root); terr == nil && slices.ContainsFunc(t.Sessions, isParked) {
				return nil
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%w: %s", err, r.stands(root))
		}
		var t wire.Tree
		err = r.try(ctx, "tree", func() error { t, err = r.client.Tree(ctx, root); return err })
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(t.Sessions, func(s wire.Session) bool { return !s.Status.Ended() }) {
			return nil
		}
		if !slices.ContainsFunc(t.Sessions, isParked) {
			continue // it was when Wait returned
		}
		r.mu.Lock()
		r.revived++
		r.mu.Unlock()
		err = r.try(ctx, "send", func() error {
			m := wire.Message{Text: "go on"}
			m.Once = fmt.Sprintf("revive-%s-%d", p.key, n)
			_, err := r.client.Send(ctx, root, m)
			return err
		})
		if err != nil {
			return err
		}
	}
}

// isParked: of a main agent that has ended its children alone say it.
func isParked(s wire.Session) bool { return s.Parked != "" }

// stands says how a tree stands that does not end.
func (r *torture) stands(root troupe.SessionID) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.t.Context()), 10*time.Second)
	defer cancel()
	t, err := r.client.Tree(ctx, root)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "running %v, kept %v, process %d", t.Running, t.Kept, t.Owner.PID)
	for _, s := range t.Sessions {
		fmt.Fprintf(&b, "\n\t%s %s %s %s, run %d, event %d %s %s", s.ID, s.Path, s.Status, s.Waiting, s.Run,
			s.Seq, s.Error, s.Parked)
	}
	return b.String()
}

// try makes a call until it is answered: while a process or the database is away it is refused, and says so.
func (r *torture) try(ctx context.Context, what string, call func() error) error {
	for {
		err := call()
		if err == nil {
			return nil
		}
		r.mu.Lock()
		r.answered[fmt.Sprintf("%s: %.160s", what, err)]++
		r.mu.Unlock()
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// born has a tree begin in its way, once, and is its id.
func (r *torture) born(ctx context.Context, p *tortured) (root troupe.SessionID, err error) {
	b := p.begin()
	switch p.by {
	case "schedule":
		b.Once = ""
		err = r.try(ctx, "schedule", func() error {
			terms := wire.ScheduleTerms{Name: p.key, Begin: b}
			terms.At = time.Now().Add(2 * time.Second).Format(time.RFC3339)
			_, err := r.client.Server().Schedules().SetSchedule(ctx, terms)
			if errors.Is(err, troupe.ErrExists) { // an answer was lost
				err = nil
			}
			return err
		})
		if err != nil {
			return "", err
		}
		err = r.try(ctx, "look at a schedule", func() error {
			s, err := r.client.Server().Schedules().Schedule(ctx, p.key)
			if err == nil && (s.Last == nil || s.Last.Root == "") {
				err = fmt.Errorf("schedule %s has begun nothing: %+v %+v %s", p.key, s.Last, s.Claimed, s.Unserved)
			} else if err == nil {
				root = s.Last.Root
			}
			return err
		})
	case "webhook":
		b.Once = ""
		root, err = r.delivered(ctx, p, b)
	default:
		err = r.try(ctx, "begin", func() error {
			begun, err := r.client.Begin(ctx, b)
			root = begun.Root
			return err
		})
	}
	return root, err
}

// delivered makes a webhook, and delivers to it until that is answered.
func (r *torture) delivered(ctx context.Context, p *tortured, b wire.Begin) (root troupe.SessionID, err error) {
	secret := ""
	err = r.try(ctx, "webhook", func() error {
		h, err := r.client.Server().Webhooks().SetWebhook(ctx, wire.WebhookTerms{Name: p.key, Begin: b,
			Signed: wire.SignedGitLab, Only: []wire.Condition{{Value: "a", Is: []string{"*"}}}})
		if errors.Is(err, troupe.ErrExists) { // an answer was lost, and with it the secret
			if h.Webhook, err = r.client.Server().Webhooks().Webhook(ctx, p.key); err == nil {
				terms := h.WebhookTerms
				terms.NewSecret = true
				h, err = r.client.Server().Webhooks().SetWebhook(ctx, terms)
			}
		}
		secret = h.Secret
		return err
	})
	if err != nil {
		return "", err
	}
	err = r.try(ctx, "deliver", func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.address+wire.DeliveryPath(p.key),
			bytes.NewReader([]byte(`{"a":1}`)))
		if err != nil {
			return err
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "X-Gitlab-Token": {secret},
			"X-Gitlab-Event-Uuid": {"one"}}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusAccepted {
			return fmt.Errorf("it is answered with %s", resp.Status)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	err = r.try(ctx, "look at a delivery", func() error {
		h, err := r.client.Server().Webhooks().Webhook(ctx, p.key)
		if err == nil && (h.Last == nil || h.Last.Root == "") {
			err = fmt.Errorf("webhook %s has begun nothing: %+v %s", p.key, h.Last, h.Unserved)
		} else if err == nil {
			root = h.Last.Root
		}
		return err
	})
	return root, err
}

// end ends all processes, and has one look after what they have left.
func (r *torture) end() {
	r.client.Close()
	http.DefaultClient.CloseIdleConnections()
	for _, n := range r.nodes() {
		if err := n.end(); err != nil {
			r.t.Errorf("end %s: %v", n.name, err)
		}
		for _, end := range n.crashed {
			r.t.Logf("it ended by itself, and was started again: %s", end)
		}
		text, err := os.ReadFile(n.log.Name())
		r.fine("read a log", err)
		if i := bytes.Index(text, []byte("\ngoroutine ")); i >= 0 {
			r.t.Errorf("%s crashed:\n%s", n.name, text[max(0, i-1000):min(len(text), i+3000)])
		}
	}
	var dirs []string
	for _, p := range r.trees {
		dirs = append(dirs, "--folder", p.dir)
	}
	last, err := newNode("last", r.logs, nil, func() *exec.Cmd {
		return r.command(append([]string{"worker"}, dirs...)...)
	})
	r.fine("start the last worker", err)
	for from := time.Now(); ; <-time.After(50 * time.Millisecond) {
		left, err := r.sql("SELECT * FROM records WHERE kind = 'hosted'")
		if err == nil && left == "" {
			break
		}
		if time.Since(from) > 30*time.Second {
			r.t.Errorf("this is kept going though all is over: %s (%v)", left, err)
			break
		}
	}
	r.troupe("admin") // what lists the processes forgets the dead ones
	if err := last.end(); err != nil {
		r.t.Errorf("end the last worker: %v", err)
	}
}
