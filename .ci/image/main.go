// Command image judges the Dockerfile by the rules of `docker build --check`, and
// compose.yaml as `docker compose config` does: without a Docker engine, but with
// their own code. It exits with 1 when either says anything.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/subrequests/lint"
	"github.com/opencontainers/go-digest"
)

// secrets must be asked for: compose.yaml has no default for them.
var secrets = []string{"RAIL_SECRET_KEY=" + strings.Repeat("07", 32), "POSTGRES_PASSWORD=x"}

func main() {
	ctx := context.Background()
	err := errors.Join(dockerfile(ctx, "Dockerfile"), compose(ctx, "compose.yaml"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func dockerfile(ctx context.Context, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	source := llb.NewSourceMap(nil, path, "Dockerfile", text)
	source.Definition = &llb.Definition{}
	found, err := dockerfile2llb.DockerfileLint(ctx, text, dockerfile2llb.ConvertOpt{SourceMap: source, MetaResolver: noImage{}})
	if err != nil {
		return err
	}
	var out []error
	if found.Error != nil {
		out = append(out, fmt.Errorf("%s: %s", path, found.Error.Message))
	}
	for _, w := range found.Warnings {
		out = append(out, fmt.Errorf("%s:%d: %s: %s", path, line(w), w.RuleName, w.Detail))
	}
	return errors.Join(out...)
}

// noImage replaces every base image, so that no registry is asked.
type noImage struct{}

func (noImage) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	config := []byte(`{"architecture":"amd64","os":"linux","config":{}}`)
	return ref, digest.FromBytes(config), config, nil
}

func line(w lint.Warning) int32 {
	for _, r := range w.Location.GetRanges() {
		return r.GetStart().GetLine()
	}
	return 0
}

// compose loads the file, which must fail while any secret is missing.
func compose(ctx context.Context, path string) error {
	p, err := load(ctx, path, secrets)
	if err != nil {
		return err
	}
	for i := range secrets {
		if _, err := load(ctx, path, append(secrets[:i:i], secrets[i+1:]...)); err == nil {
			name, _, _ := strings.Cut(secrets[i], "=")
			return fmt.Errorf("%s: loads without %s", path, name)
		}
	}
	var out []error
	for name, s := range p.Services {
		if problem := exposed(s); problem != "" {
			out = append(out, fmt.Errorf("%s: service %s %s", path, name, problem))
		}
	}
	return errors.Join(out...)
}

func load(ctx context.Context, path string, environ []string) (*types.Project, error) {
	o, err := cli.NewProjectOptions([]string{path}, cli.WithEnv(environ))
	if err != nil {
		return nil, err
	}
	return o.LoadProject(ctx)
}

// exposed names what a service lacks of the confinement that each must have.
func exposed(s types.ServiceConfig) string {
	switch {
	case !s.ReadOnly:
		return "can write to its root"
	case strings.Join(s.CapDrop, " ") != "ALL":
		return "keeps capabilities"
	case !strings.Contains(strings.Join(s.SecurityOpt, " "), "no-new-privileges:true"):
		return "may gain privileges"
	}
	for _, port := range s.Ports {
		if port.HostIP != "127.0.0.1" {
			return "is published to other machines"
		}
	}
	return ""
}
