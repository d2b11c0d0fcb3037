package cmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
)

func newServe(c *console.Console) *cobra.Command {
	var o home.ServeOptions
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the sessions of this machine at an address", Args: console.NoArgs,
		Long: `Serve the sessions of this machine at an address. Agents work here, in the folders that are named, while people and
programs begin, follow, steer, stop and answer them from elsewhere: every command works the same with --server ADDRESS, or
after "troupe login ADDRESS". The first login is printed when the server begins, and is good once, for ten minutes.

Beyond this machine the server listens only encrypted (--tls-cert, --tls-key), or behind a proxy that encrypts calls.
"troupe docs server" says more.`,
		Example: "troupe serve\ntroupe serve --listen 127.0.0.1:7777 --folder ~/app --folder ~/site\n" +
			"troupe serve --listen :7777 --tls-cert cert.pem --tls-key key.pem",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), c, o)
		},
	}
	hostFlags(c, cmd, &o)
	fs := cmd.Flags()
	fs.StringVar(&o.Listen, "listen", "127.0.0.1:7777", "Address to listen on; port 0 takes a free one")
	fs.StringArrayVar(&o.Proxies, "behind-proxy", nil,
		"Address or network of the proxy that encrypts calls; others are not answered then")
	fs.BoolVar(&o.WorkersOnly, "workers-only", false, "Run no agents here: workers do, in these folders (troupe "+
		"worker)")
	return cmd
}

// hostFlags are those of what runs sessions for others.
func hostFlags(c *console.Console, cmd *cobra.Command, o *home.ServeOptions) {
	fs := cmd.Flags()
	fs.StringVar(&c.Global.LogFormat, "log-format", "", "Log what happens to standard error: text or json (default: "+
		"nothing is logged)")
	fs.StringArrayVar(&o.Folders, "folder", nil, "Folder in which agents may work; may be given again (default: this "+
		"one)")
	fs.StringArrayVar(&o.GitHosts, "git-host", nil, "Host from which repositories may be checked out (--repo), such "+
		"as github.com, or git.example.com=gitlab (or =github) to open pull requests there; may be given again")
	fs.StringVar(&o.Database, "database", "", "PostgreSQL server that keeps the sessions, without a password "+
		"(default: "+
		"TROUPE_DATABASE, or a file of this home)")
	fs.StringVar(&o.Cert, "tls-cert", "", "File with the certificate, as PEM; it is read again when it changes")
	fs.StringVar(&o.Key, "tls-key", "", "File with the certificate's key, as PEM")
}

func newWorker(c *console.Console) *cobra.Command {
	var o home.ServeOptions
	cmd := &cobra.Command{
		Use: "worker", Short: "Run the sessions of a server that work in folders of this machine", Args: console.NoArgs,
		Long: `Run the sessions of a server that work in folders of this machine. A worker has the server's database. What begins in
its folders is begun here; what another process with the folder has left, because it was ended or killed, is taken up
within five seconds. Give the same folders by the same paths to all that may take over from each other.

Processes on this machine reach a worker at a socket. With --listen others do: they prove that they have the same
database. "troupe docs server" says more.`,
		Example: "TROUPE_DATABASE=postgres://troupe@db/troupe troupe worker --folder /srv/app\n" +
			"troupe worker --listen 10.0.0.7:7780 --tls-cert cert.pem --tls-key key.pem --folder /srv/app",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return host(cmd.Context(), c, o, func(ctx context.Context, env home.Env, o home.ServeOptions) (hosted,
				string,
				error) {
				w, err := home.Work(ctx, env, o)
				if err != nil {
					return nil, "", err
				}
				text := fmt.Sprintf("This worker is ready: process %d, reached at %s\nAgents work in %s%s\n",
					os.Getpid(),
					w.Reached, strings.Join(w.Folders, ", "), repositories(o))
				if !w.Shared {
					text += "It has no database (TROUPE_DATABASE, --database): it works for servers of this home " +
						"alone.\n"
				}
				return w, text, nil
			})
		},
	}
	hostFlags(c, cmd, &o)
	fs := cmd.Flags()
	fs.StringVar(&o.Listen, "listen", "", "Address at which other machines reach it")
	fs.StringVar(&o.Advertise, "advertise", "", "Address by which they call it, such as https://w7.example.com:7780 "+
		"(default: the one it listens on)")
	return cmd
}

// repositories says from where they are checked out.
func repositories(o home.ServeOptions) string {
	if len(o.GitHosts) == 0 {
		return ""
	}
	return ", and in repositories from " + strings.Join(o.GitHosts, ", ")
}

// hosted is what runs until it is interrupted.
type hosted interface {
	// Drained is closed where nothing is left to be done; nil: it runs on.
	Drained() <-chan struct{}
	Warnings() []string
	Close(ctx context.Context) error
}

// serve serves until it is interrupted.
func serve(ctx context.Context, c *console.Console, o home.ServeOptions) error {
	return host(ctx, c, o, func(ctx context.Context, env home.Env, o home.ServeOptions) (hosted, string, error) {
		if c.Global.LogFormat == "" { // else the log says it
			o.Told = func(text string) { c.Warn(c.Now().Local().Format("15:04:05 ") + console.Line(text, 0)) }
		}
		s, err := home.Serve(ctx, env, o)
		if err != nil {
			return nil, "", err
		}
		text := fmt.Sprintf("Troupe serves at %s\nAgents work in %s%s\n", s.Address, strings.Join(s.Folders, ", "),
			repositories(o))
		if s.Code != "" {
			text += fmt.Sprintf("\nTo log in (once, until %s):\n\n  troupe login %s\n  %s\n",
				s.Until.Local().Format("15:04:05"), s.Address, s.Code)
		}
		return s, text, nil
	})
}

// host runs what hosts sessions until it is interrupted.
func host(ctx context.Context, c *console.Console, o home.ServeOptions,
	begin func(context.Context, home.Env, home.ServeOptions) (hosted, string, error)) error {
	if err := withoutPassword(o.Database); err != nil {
		return err
	}
	if len(o.Folders) == 0 {
		o.Folders = []string{cmp.Or(c.Cwd, ".")}
	}
	ended := make(chan struct{}, 1)
	defer c.Interrupts.Take(func() {
		select {
		case ended <- struct{}{}:
		default: // it is ending
		}
	})()
	var s hosted
	var text string
	var log *slog.Logger
	_, closeLog, err := console.OpenHere(c, func(env home.Env) (h *home.Home, err error) {
		log = env.Log
		s, text, err = begin(ctx, env, o)
		return nil, err
	})
	if err != nil {
		return err
	}
	for _, w := range s.Warnings() {
		c.WarnOnce(w)
	}
	log.InfoContext(ctx, "process begins", "pid", os.Getpid(), "version", c.Version, "folders", o.Folders)
	why := "interrupted"
	_, err = fmt.Fprint(c.Out, text, "\nCtrl-C ends it; what agents have under way is gone on with by the next "+
		"process "+
		"that can.\n")
	if err == nil {
		select {
		case <-ended:
		case <-ctx.Done():
		case <-s.Drained():
			why = "drained"
			err = c.Say("Drained: nothing is at work here any more.")
		}
	}
	err = errors.Join(err, s.Close(ctx))
	log.InfoContext(ctx, "process ends", "why", why)
	return errors.Join(err, closeLog())
}

// withoutPassword refuses a password where every command on the machine can read it.
func withoutPassword(address string) error {
	has := strings.Contains(strings.Join(strings.Fields(address), ""), "password=")
	if u, err := url.Parse(address); err != nil {
		has = has || strings.Contains(address, "://") && strings.Contains(address, "@") // one with a %, say
	} else if u.User != nil {
		_, with := u.User.Password()
		has = has || with
	}
	if !has {
		return nil
	}
	return &troupe.UserError{Problem: "the password of the database stands on the command line, where commands of " +
		"agents " +
		"can read it",
		Hint: "Put it into the file that PGPASSFILE names, or give the whole address in TROUPE_DATABASE.",
		Code: troupe.ExitUsage}
}

func newLogin(c *console.Console) *cobra.Command {
	var only, status bool
	cmd := &cobra.Command{
		Use: "login ADDRESS", Short: "Log in at a server, or say as whom you are", Args: console.Args(0, 1),
		Long: `Log in at a server with a code that is good once: the server prints the first one when it begins, and an admin makes
others ("troupe users invite NAME"). The code is asked for, or read from standard input. Commands go to that server from then
on: --server here is this machine for one command, and "troupe logout" ends it. The token is kept in a file that only you may
read and that is hidden from agents; it holds for 90 days.`,
		Example: "troupe login http://127.0.0.1:7777\necho $CODE | troupe login https://troupe.example.com\n" +
			"troupe login --status",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case status && len(args) == 0:
				return whoami(cmd.Context(), c)
			case status || len(args) == 0:
				return console.Usage("give the address of a server, or --status alone, which says who you are and " +
					"where")
			}
			address, err := home.Address(args[0])
			if err == nil {
				err = home.Answers(cmd.Context(), address) // before a code is asked for
			}
			if err != nil {
				return err
			}
			code, err := readCode(c)
			if err != nil {
				return err
			}
			label, _ := os.Hostname() // it only says in a list which token this is
			in, err := home.SignIn(cmd.Context(), c.Lookup, address, code, label, !only)
			if err != nil {
				return err
			}
			said := "Commands go there now; --server here is this machine, and troupe logout ends it."
			if only {
				said = "Commands go there with --server " + address + "."
			}
			err = c.Printf("You are logged in at %s as %s (%s), until %s. %s\n", address,
				console.Line(in.Name, 64), rightsOf(in.Right, in.Projects), in.Expires.Local().Format("2 Jan 2006"),
				said)
			return err
		},
	}
	cmd.Flags().BoolVar(&only, "keep-here", false, "Commands go on to use this machine unless --server names the "+
		"server")
	cmd.Flags().BoolVar(&status, "status", false, "Say who you are, and where commands go")
	return cmd
}

// whoami says who calls, and where.
func whoami(ctx context.Context, c *console.Console) error {
	return c.With(ctx, troupe.SurfaceCommand, func(h *home.Home) error {
		if h.Server() == "" {
			return c.Say("Commands use this machine, and you are its owner.")
		}
		me, err := h.API.Server().People().Me(ctx)
		if err != nil {
			return err
		}
		return c.Say(fmt.Sprintf("Commands go to %s, where you are %s (%s). Agents work in %s.", h.Server(),
			console.Line(me.Name, 64), rightsOf(me.Right, me.Projects),
			console.Line(strings.Join(me.Folders, ", "), 0)))
	})
}

// readCode asks for a login code, or reads it.
func readCode(c *console.Console) (string, error) {
	if c.InTTY {
		fmt.Fprint(c.Err, "Login code: ")
	}
	line, err := bufio.NewReader(io.LimitReader(c.In, 1<<10)).ReadString('\n')
	if line = strings.TrimSpace(line); line == "" {
		return "", &troupe.UserError{Problem: "there is no login code",
			Hint: "Type the code that the server or an admin " +
				"gave you, or pipe it in.", Code: troupe.ExitUsage, Err: err}
	}
	return line, nil
}

func newLogout(c *console.Console) *cobra.Command {
	return &cobra.Command{
		Use: "logout [ADDRESS]", Short: "Log out at a server", Args: console.Args(0, 1),
		Long: `Log out at a server: the one that commands go to, or the one named. Its token holds no more from then on, and
commands use this machine.`,
		Example: "troupe logout\ntroupe logout https://troupe.example.com",
		RunE: func(cmd *cobra.Command, args []string) error {
			address, err := home.Server("", c.Lookup)
			if len(args) > 0 {
				address, err = home.Address(args[0])
			}
			if err != nil {
				return err
			}
			if address == "" {
				return console.Usage("commands use this machine; name the server to log out at")
			}
			known, err := home.SignOut(cmd.Context(), c.Lookup, address)
			if err != nil {
				return err
			}
			word := "You were not logged in at %s.\n"
			if known {
				word = "You are logged out at %s.\n"
			}
			err = c.Printf(word, address)
			return err
		},
	}
}
