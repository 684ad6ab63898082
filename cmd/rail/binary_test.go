package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// largest is the maximum size of the binary from make build, in bytes.
const largest = 58_500_000

// TestBinary checks that the binary from make build is small, names its commit, and contains no gRPC.
func TestBinary(t *testing.T) {
	t.Parallel()
	deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	require.NotContains(t, string(deps), "google.golang.org/grpc")
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	flags := regexp.MustCompile(`(?m)^LINK = (.*)rail/server/cli.version=`).FindStringSubmatch(string(makefile))
	require.NotNil(t, flags, "make build says how to link")
	path := filepath.Join(t.TempDir(), "rail")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", flags[1]+"rail/server/cli.version=abc1234", "-o", path, ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, st.Size(), int64(largest))
	output, err := exec.CommandContext(t.Context(), path, "version").Output()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(output), "rail abc1234, "), "%s", output)
}
