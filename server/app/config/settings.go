package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"reflect"
	"strings"

	"rail/server/secret"
)

// environment is the source of most values.
const environment = "environment"

// Setting is a variable with its effective value and source.
type Setting struct {
	Variable string `json:"variable"`
	Value    string `json:"value"` // stars for a secret
	From     string `json:"from"`  // environment, default, or the path of a file
}

// Settings returns every variable in the order of the help. Secret keys are shown as fingerprints, which are
// enough to recognize a wrong key.
func (c *Config) Settings() []Setting {
	var out []Setting
	for f, v := range reflect.ValueOf(*c).Fields() {
		name := f.Tag.Get("env")
		if name == "-" {
			continue
		}
		s := Setting{name, written(v), cmp.Or(c.sources[name], "default")}
		switch {
		case name == "RAIL_SECRET_KEY" && c.KeyFrom != "":
			s.Value = masked(c.SecretKey)
			if c.SecretText == "" {
				s.From = c.KeyFrom
			}
		case name == "RAIL_SECRET_KEY_PREVIOUS" && c.previousKey != [32]byte{}:
			s.Value = masked(c.previousKey)
		case isSecret(name) && s.Value != "":
			s.Value = "***"
		}
		out = append(out, s)
	}
	return out
}

// masked returns the visible part of a key.
func masked(key [32]byte) string {
	k, err := secret.New(key)
	if err != nil {
		return "***"
	}
	return "*** (fingerprint " + k.Fingerprint() + ")"
}

// written returns a value as its variable would have it.
func written(v reflect.Value) string {
	switch v := v.Interface().(type) {
	case bool:
		return map[bool]string{true: "on", false: "off"}[v]
	case []string:
		return strings.Join(v, ",")
	case []netip.Prefix:
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ","), "[]")
	default:
		return fmt.Sprint(v)
	}
}
