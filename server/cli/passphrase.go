package cli

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// passphraseVariable is where a passphrase is read that nobody types.
const passphraseVariable = "RAIL_BACKUP_PASSPHRASE"

// shortest is how many characters a new passphrase has at least.
const shortest = 12

// errNoPassphrase means that there is nobody to ask.
var errNoPassphrase = errors.New("no passphrase: set " + passphraseVariable + " or give --passphrase-file")

// passphrase is the flag with the ways to give one.
type passphrase struct{ file *string }

func passphraseFlag(fs *flag.FlagSet) passphrase {
	return passphrase{
		fs.String("passphrase-file", "",
			"`PATH` of the passphrase of the secret key; without it "+passphraseVariable+", or a question"),
	}
}

// read returns the passphrase from the file, the variable or whoever sits there.
func (p passphrase) read(env *Env, fresh bool) (string, error) {
	text, err := p.given(env)
	if errors.Is(err, errNoPassphrase) && term.IsTerminal(int(os.Stdin.Fd())) {
		text, err = typed(env, fresh)
	}
	if err == nil && fresh && len([]rune(text)) < shortest {
		err = fmt.Errorf("the passphrase must have at least %d characters", shortest)
	}
	return text, err
}

func (p passphrase) given(env *Env) (string, error) {
	text := os.Getenv(passphraseVariable)
	if env.Environ != nil {
		text = env.Environ[passphraseVariable]
	}
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

func question(env *Env, text string) (string, error) {
	fmt.Fprint(env.Err, text)
	raw, err := term.ReadPassword(int(os.Stdin.Fd()))
	fmt.Fprintln(env.Err)
	return string(raw), err
}
