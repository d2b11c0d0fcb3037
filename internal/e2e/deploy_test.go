package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// deployed reads a file of deploy.
func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkLine looks whether the program knows a command line of a deployment, and returns what its flags say.
func checkLine(t *testing.T, words []string) map[string][]string {
	t.Helper()
	help, err := exec.CommandContext(t.Context(), binary, words[0], "--help").CombinedOutput()
	if err != nil || words[0] != "serve" && words[0] != "worker" {
		t.Fatalf("troupe %s: %v\n%s", words[0], err, help)
	}
	said := map[string][]string{}
	for i := 1; i < len(words); i++ {
		flag, value, _ := strings.Cut(words[i], "=")
		m := regexp.MustCompile(`(?m)^\s+` + regexp.QuoteMeta(flag) + `( <?\w+>?)?\s`).FindStringSubmatch(string(help))
		if m == nil || !strings.HasPrefix(flag, "--") {
			t.Fatalf("troupe %s has no flag %s:\n%s", words[0], flag, help)
		}
		if value == "" && i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") {
			i++
			value = words[i]
		}
		said[flag] = append(said[flag], value)
	}
	if !slices.Equal(said["--folder"], []string{"/srv/app"}) || said["--log-format"] == nil {
		t.Errorf("%v: no folder /srv/app, or nothing is logged", words)
	}
	return said
}

// noSecret refuses what looks like a secret: they come from files that are not part of the project.
func noSecret(t *testing.T, text string) {
	t.Helper()
	for _, form := range []string{`sk-[A-Za-z0-9]`, `(?i)password[=:]\s*\S`, `://[^/@\s]*:[^/@\s]*@`,
		`troupe(peer)?_[A-Za-z0-9]{8}`,
		`BEGIN [A-Z ]*KEY`, `(?m)^\s*[A-Z_]*(API_KEY|TOKEN|SECRET)[=:]\s*\w`} {
		if m := regexp.MustCompile(form).FindString(text); m != "" {
			t.Errorf("it holds %q", m)
		}
	}
}

// TestDeployUnit: the unit names flags that there are, writes where agents work and nowhere else, lets troupe end as on
// Ctrl-C, and takes nothing away that the sandbox of agents needs.
func TestDeployUnit(t *testing.T) {
	t.Parallel()
	text := deployed(t, "troupe.service")
	noSecret(t, text)
	set, section := map[string]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch key, value, ok := strings.Cut(line, "="); {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = line
		case !ok || section == "" || set[key] != "":
			t.Errorf("not a setting, outside of a section, or there twice: %s", line)
		default:
			set[key] = value
		}
	}
	words := strings.Fields(set["ExecStart"])
	if words[0] != "/usr/local/bin/troupe" {
		t.Errorf("it starts %s", words[0])
	}
	checkLine(t, words[1:])
	for key, want := range map[string]string{"User": "troupe", "Group": "troupe", "StateDirectory": "troupe",
		"WorkingDirectory": "/srv/app", "ReadWritePaths": "/srv/app", "ProtectSystem": "strict", "KillMode": "mixed",
		"KillSignal": "SIGTERM", "TimeoutStopSec": "30", "Restart": "on-failure", "RestartPreventExitStatus": "2",
		"OOMPolicy": "continue", "NoNewPrivileges": "yes", "CapabilityBoundingSet": "",
		"Environment": "HOME=/var/lib/troupe TROUPE_HOME=/var/lib/troupe"} {
		if got, ok := set[key]; !ok || got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	for _, key := range []string{"RestrictNamespaces", "PrivateUsers", "SystemCallFilter", "MemoryDenyWriteExecute",
		"NoExecPaths", "RootDirectory", "DynamicUser", "RestrictFileSystems", "ProcSubset"} {
		if _, ok := set[key]; ok {
			t.Errorf("%s breaks the sandbox of agents, or what they run", key)
		}
	}
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze: what systemd says of the unit was not looked at")
	}
	unit := filepath.Join(t.TempDir(), "troupe.service")
	here := strings.NewReplacer("/usr/local/bin/troupe", binary, "User=troupe", "User=root", "Group=troupe",
		"Group=root").Replace(text)
	if err := os.WriteFile(unit, []byte(here), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), verify, "verify", "--man=no", unit).CombinedOutput()
	if said := string(out); err != nil || strings.Contains(said, unit) {
		t.Errorf("systemd-analyze: %v\n%s", err, said)
	}
}

// TestDeployImage: the image runs the program as a user of its own, at the paths that the other files name.
func TestDeployImage(t *testing.T) {
	t.Parallel()
	text := deployed(t, "Dockerfile")
	noSecret(t, text)
	if err := json.Unmarshal([]byte(deployed(t, "managed-settings.json")), &struct {
		Sandbox struct {
			DenyRead []string `json:"deny_read"`
		} `json:"sandbox"`
	}{}); err != nil {
		t.Error(err)
	}
	last := map[string]string{}
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		if word, rest, ok := strings.Cut(line, " "); ok && word != "#" {
			if !slices.Contains(strings.Fields("FROM ARG WORKDIR COPY RUN USER ENV STOPSIGNAL ENTRYPOINT CMD"), word) {
				t.Errorf("there is no instruction %s", word)
			}
			last[word] = rest
		}
	}
	for word, want := range map[string]string{"USER": "troupe", "WORKDIR": "/srv/app",
		"ENV": "HOME=/var/lib/troupe TROUPE_HOME=/var/lib/troupe", "ENTRYPOINT": `["/usr/local/bin/troupe"]`} {
		if last[word] != want {
			t.Errorf("%s is %s, want %s", word, last[word], want)
		}
	}
	var words []string
	if err := json.Unmarshal([]byte(last["CMD"]), &words); err != nil {
		t.Fatal(err)
	}
	checkLine(t, words)
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))[1]
	if !strings.Contains(text, "FROM golang:"+version+"-") {
		t.Errorf("it is built with another Go than %s", version)
	}
}

// TestDeployCompose: a server that runs nothing itself, and two workers that have the same folder by the same path, one
// database, names that fit, and no more rights than the sandbox of agents needs.
func TestDeployCompose(t *testing.T) {
	t.Parallel()
	text := deployed(t, "compose.yaml")
	noSecret(t, text)
	var file struct {
		Name     string
		Services map[string]struct {
			Image       string
			Init        bool
			Privileged  bool
			Command     []string
			Environment map[string]string
			Volumes     []string
			Secrets     []string
			SecurityOpt []string `yaml:"security_opt"`
			CapDrop     []string `yaml:"cap_drop"`
			CapAdd      []string `yaml:"cap_add"`
			Grace       string   `yaml:"stop_grace_period"`
		}
		Volumes map[string]any
		Secrets map[string]struct{ File string }
	}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	homes := map[string]bool{}
	for name, s := range file.Services {
		for _, v := range s.Volumes {
			volume, at, _ := strings.Cut(v, ":")
			if _, ok := file.Volumes[volume]; !ok {
				t.Errorf("%s: there is no volume %s", name, volume)
			}
			if at == "/var/lib/troupe" {
				if homes[volume] {
					t.Errorf("%s shares its home", name)
				}
				homes[volume] = true
			}
		}
		for _, secret := range s.Secrets {
			if !strings.HasPrefix(file.Secrets[secret].File, "secrets/") {
				t.Errorf("%s: there is no secret %s", name, secret)
			}
		}
		if name == "db" {
			continue
		}
		said := checkLine(t, s.Command)
		if (s.Command[0] == "serve") != (name == "server") || (said["--workers-only"] != nil) != (name == "server") {
			t.Errorf("%s runs %v", name, s.Command)
		}
		if a := said["--advertise"]; name != "server" && !slices.Equal(a, []string{"https://" + name + ":7780"}) {
			t.Errorf("%s is known as %v", name, a)
		}
		for _, path := range []string{said["--tls-cert"][0], said["--tls-key"][0], s.Environment["PGPASSFILE"],
			s.Environment["SSL_CERT_FILE"]} {
			if secret, ok := strings.CutPrefix(path, "/run/secrets/"); !ok || !slices.Contains(s.Secrets, secret) {
				t.Errorf("%s has no secret at %s", name, path)
			}
		}
		if !slices.Contains(s.Volumes, "app:/srv/app") || !slices.Contains(s.Volumes, name+":/var/lib/troupe") {
			t.Errorf("%s has the volumes %v", name, s.Volumes)
		}
		options := []string{"no-new-privileges:true", "seccomp:unconfined", "apparmor:unconfined"}
		if !s.Init || s.Privileged || s.CapAdd != nil || !slices.Equal(s.CapDrop, []string{"ALL"}) ||
			s.Grace != "30s" || !slices.Equal(s.SecurityOpt, options) {
			t.Errorf("%s: %+v", name, s)
		}
		if s.Environment["TROUPE_DATABASE"] != file.Services["server"].Environment["TROUPE_DATABASE"] {
			t.Errorf("%s has another database", name)
		}
	}
	if len(file.Services) != 4 || len(homes) != 3 {
		t.Errorf("%d services with %d homes", len(file.Services), len(homes))
	}
}
