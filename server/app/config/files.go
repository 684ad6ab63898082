package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"reflect"
	"strings"
)

const (
	// fileSuffix ends the variable for a file with a secret's value, such as a systemd credential or a container
	// secret: the secret then appears neither in the environment nor in a container's description.
	fileSuffix = "_FILE"
	// maxSecretFile exceeds the size of any secret.
	maxSecretFile = 16 << 10
)

// secrets yields the variables whose values must not be shown. Each also has a file variable.
func secrets() iter.Seq[string] {
	return func(yield func(string) bool) {
		for f := range reflect.TypeFor[Config]().Fields() {
			if _, ok := f.Tag.Lookup("secret"); ok && !yield(f.Tag.Get("env")) {
				return
			}
		}
	}
}

// isSecret reports whether the value of a variable must not be shown.
func isSecret(variable string) bool {
	for s := range secrets() {
		if s == variable {
			return true
		}
	}
	return false
}

// readFiles returns environ with the secrets from files, and the source of each value. refused has the errors,
// by the secret's variable.
func readFiles(environ map[string]string) (values, sources map[string]string, refused map[string]error) {
	values, sources, refused = maps.Clone(environ), map[string]string{}, map[string]error{}
	for name, value := range environ {
		if value != "" {
			sources[name] = environment
		}
	}
	for name := range secrets() {
		path := environ[name+fileSuffix]
		delete(values, name+fileSuffix)
		if path == "" {
			continue
		}
		value, err := readSecret(path)
		switch {
		case environ[name] != "":
			refused[name] = fmt.Errorf("%s and %s are both set: unset one of them", name, name+fileSuffix)
		case err != nil:
			refused[name] = fmt.Errorf("%s is %q: it must name a file with one line, of at most 16 KiB: %w", name+fileSuffix, path, err)
		default:
			values[name], sources[name] = value, path
		}
	}
	return values, sources, refused
}

// readSecret reads a file of one line.
func readSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", errors.Unwrap(err) // without the path
	}
	defer f.Close() //nolint:errcheck // only read
	raw, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	text := strings.TrimRight(string(raw), "\r\n")
	switch {
	case err != nil:
		return "", cmp.Or(errors.Unwrap(err), err)
	case len(raw) > maxSecretFile:
		return "", errors.New("it is larger")
	case text == "":
		return "", errors.New("it is empty")
	case strings.ContainsAny(text, "\r\n"):
		return "", errors.New("it has several")
	}
	return text, nil
}
