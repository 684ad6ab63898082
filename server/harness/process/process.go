// Package process builds and starts cmd/rail, for tests and load tests of the server
// as operators run it.
package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
)

// ErrEnded is returned for a server that ended before it served.
var ErrEnded = errors.New("the server ended before it served")

// Build builds the server at path with further flags of go build.
func Build(ctx context.Context, path string, flags ...string) error {
	out, err := exec.CommandContext(ctx, "go",
		append(append([]string{"build"}, flags...), "-o", path, "rail/cmd/rail")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// address matches the server's output of its address.
var address = regexp.MustCompile(`http://[\w.:]+:\d+`)

// Serve starts a server process and returns its URL once it serves. The caller stops
// and waits for the process, except after ErrEnded.
func Serve(cmd *exec.Cmd) (url string, err error) {
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if url = address.FindString(lines.Text()); url != "" {
			go func() { _, _ = io.Copy(io.Discard, stdout) }() // a full pipe would block the server
			return url, nil
		}
	}
	return "", errors.Join(ErrEnded, cmd.Wait())
}
