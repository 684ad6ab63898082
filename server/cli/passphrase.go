package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// passphraseVariable is the variable of the passphrase for unattended backups.
const passphraseVariable = "RAIL_BACKUP_PASSPHRASE"

// minPassphrase is the minimum length of a new passphrase.
const minPassphrase = 12

// errNoPassphrase means that neither a file, the variable nor a terminal gives a passphrase.
var errNoPassphrase = errors.New("no passphrase: set " + passphraseVariable + " or give --passphrase-file")

// passphrase is the flag of a passphrase.
type passphrase struct{ file *string }

func passphraseFlag(fs *pflag.FlagSet) passphrase {
	return passphrase{
		fs.String("passphrase-file", "",
			"`PATH` of the passphrase of the secret key; without it "+passphraseVariable+", or a question"),
	}
}

// read returns the passphrase from the file, the variable or the terminal. A fresh one must be long enough, and
// is typed twice.
func (p passphrase) read(env *Env, fresh bool) (string, error) {
	text, err := p.configured(env)
	if errors.Is(err, errNoPassphrase) && term.IsTerminal(int(os.Stdin.Fd())) {
		text, err = typed(env, fresh)
	}
	if err == nil && fresh && len([]rune(text)) < minPassphrase {
		err = fmt.Errorf("the passphrase must have at least %d characters", minPassphrase)
	}
	return text, err
}

// configured returns the passphrase of the file or else of the variable.
func (p passphrase) configured(env *Env) (string, error) {
	text := env.variable(passphraseVariable)
	if *p.file != "" {
		raw, err := os.ReadFile(*p.file)
		if err != nil {
			return "", err
		}
		text = strings.TrimRight(string(raw), "\r\n")
	}
	if text == "" {
		return "", errNoPassphrase
	}
	return text, nil
}

// isGiven reports whether the passphrase need not be typed.
func (p passphrase) isGiven(env *Env) bool {
	_, err := p.configured(env)
	return err == nil
}

// typed asks at the terminal, twice for a new passphrase, since a backup with a mistyped one could not be
// opened.
func typed(env *Env, twice bool) (string, error) {
	text, err := question(env, "Passphrase of the secret key: ")
	if err != nil || !twice {
		return text, err
	}
	again, err := question(env, "Once more: ")
	if err == nil && again != text {
		err = errors.New("the passphrases differ")
	}
	return text, err
}

// question asks without echoing the input.
func question(env *Env, text string) (string, error) {
	defer env.progress.hold()()
	fmt.Fprint(env.Err, text)
	raw, err := term.ReadPassword(int(os.Stdin.Fd()))
	fmt.Fprintln(env.Err)
	return string(raw), err
}
