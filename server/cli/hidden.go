package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// hidden is a secret in a flag. Arguments are visible in the list of processes: "-" reads it from standard
// input, one line for each secret, and without the flag an environment variable applies.
type hidden struct{ flag, variable string }

// The secrets of connections.
var (
	hiddenSecret = hidden{"--secret", "RAIL_PROCESSOR_SECRET"}
	hiddenKey    = hidden{"--api-key", "RAIL_PROCESSOR_API_KEY"}
)

// maxHidden bounds a line of standard input, in bytes.
const maxHidden = 4 << 10

// read returns the secret for the value of its flag. in is shared by the secrets of one command.
func (h hidden) read(env *Env, in *bufio.Reader, value string) (string, error) {
	switch {
	case value == "":
		return env.variable(h.variable), nil
	case value != "-":
		return value, nil
	case env.In == nil && term.IsTerminal(int(os.Stdin.Fd())):
		return question(env, "Value of "+h.flag+": ")
	}
	line, err := in.ReadString('\n')
	if line = strings.TrimSpace(line); line != "" {
		return line, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = errors.New("standard input has no line for it")
	}
	return "", fmt.Errorf("%s -: %w", h.flag, err)
}

// variable returns a variable of the environment, or "".
func (env *Env) variable(name string) string {
	if env.Environ != nil {
		return env.Environ[name]
	}
	return os.Getenv(name)
}

// input returns standard input, to be read line by line.
func (env *Env) input() *bufio.Reader {
	if env.In != nil {
		return bufio.NewReaderSize(io.LimitReader(env.In, maxHidden), maxHidden)
	}
	return bufio.NewReaderSize(io.LimitReader(os.Stdin, maxHidden), maxHidden)
}
