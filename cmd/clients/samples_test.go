package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/cmd/clients/model"
	"rail/cmd/clients/story"
	"rail/openapi"
)

// TestCurlSamples runs the sample of every operation, which must send the example of the description.
func TestCurlSamples(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed: its samples are not run")
	}
	m, err := model.Read(openapi.Bundle)
	require.NoError(t, err)
	examples := story.NewExamples(t, m)
	script := "set -e\nuuidgen() { echo $RANDOM; }\n"
	for _, r := range m.Resources {
		for _, method := range r.Methods {
			script += strings.Replace(curl(m, method), "curl ", "curl -sS --fail -o /dev/null ", 1)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Env = append(os.Environ(), "RAIL_BASE_URL="+examples.URL, "RAIL_API_KEY=rail_live_1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	examples.Done(t)
}
