// Package secret is what the server's one secret key is used for: sealing
// values that must be read again, and keyed hashes of values that must only be
// recognized. Each use has its own derived key.
package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// version is the first byte of every sealed value; it names the key.
const version = 1

// ErrSealed is returned for a value that this key did not seal.
var ErrSealed = errors.New("secret: the value does not open with this key")

// Keeper holds the derived keys. It is safe for concurrent use.
type Keeper struct {
	box    cipher.AEAD
	apiKey []byte
	ip     []byte
}

// New derives the keys from the server's secret key.
func New(master [32]byte) (*Keeper, error) {
	boxKey, err := derive(master, "seal")
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(boxKey)
	if err != nil {
		return nil, err
	}
	k := &Keeper{}
	if k.box, err = cipher.NewGCM(block); err != nil {
		return nil, err
	}
	if k.apiKey, err = derive(master, "api-key"); err != nil {
		return nil, err
	}
	k.ip, err = derive(master, "ip")
	return k, err
}

func derive(master [32]byte, use string) ([]byte, error) {
	return hkdf.Key(sha256.New, master[:], nil, "rail/"+use, 32)
}

// Seal encrypts plain for one place, named by where (such as a table and a
// row): a value moved to another place does not open.
func (k *Keeper) Seal(plain []byte, where string) ([]byte, error) {
	out := make([]byte, 1+k.box.NonceSize(), 1+k.box.NonceSize()+len(plain)+k.box.Overhead())
	out[0] = version
	if _, err := rand.Read(out[1:]); err != nil {
		return nil, fmt.Errorf("secret: %w", err)
	}
	return k.box.Seal(out, out[1:], plain, []byte(where)), nil
}

// Open decrypts what Seal made for the same place.
func (k *Keeper) Open(sealed []byte, where string) ([]byte, error) {
	n := 1 + k.box.NonceSize()
	if len(sealed) < n || sealed[0] != version {
		return nil, ErrSealed
	}
	plain, err := k.box.Open(nil, sealed[1:n], sealed[n:], []byte(where))
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}

// HashAPIKey returns what is stored of an API key.
func (k *Keeper) HashAPIKey(token string) []byte { return mac(k.apiKey, token) }

// HashIP returns 16 bytes that recognize an address within a program and tell
// nothing about it (decisions, 71).
func (k *Keeper) HashIP(programID, ip string) []byte { return mac(k.ip, programID+"\x00"+ip)[:16] }

// HashToken returns what is stored of a random token. The token has the
// strength of a key itself, so no key is needed.
func HashToken(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
