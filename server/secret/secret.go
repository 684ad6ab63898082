// Package secret seals values that must be read again, and hashes values that must only be
// recognized. Each use has its own key, derived from the server's secret key.
package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
)

// Sealed values begin with a version. Version 2 names the key that sealed the value; version 1 does
// not. Version 3 is version 2 with a compressed value.
const (
	version1 = 1
	version2 = 2
	version3 = 3
	idLength = 4
)

// ErrSealed means that none of the keys has sealed a value.
var ErrSealed = errors.New("secret: the value does not open with this key")

// keys are the keys derived from one secret key of the server.
type keys struct {
	id     [idLength]byte
	box    cipher.AEAD
	apiKey []byte
	ip     []byte
	mark   []byte
	detail []byte
	signIn []byte
}

// Keeper holds the derived keys: the current ones, which seal and hash, and those of former secret
// keys, which only open and recognize. It is safe for concurrent use.
type Keeper struct {
	current keys
	former  []keys
}

// New derives the keys from the server's secret key and from former ones.
func New(master [32]byte, former ...[32]byte) (*Keeper, error) {
	k := &Keeper{}
	var err error
	if k.current, err = keysOf(master); err != nil {
		return nil, err
	}
	for _, m := range former {
		old, err := keysOf(m)
		if err != nil {
			return nil, err
		}
		k.former = append(k.former, old)
	}
	return k, nil
}

// keysOf derives a key for each use, so that no use can reveal another's.
func keysOf(master [32]byte) (k keys, err error) {
	boxKey, err := derive(master, "seal")
	if err != nil {
		return k, err
	}
	block, err := aes.NewCipher(boxKey)
	if err != nil {
		return k, err
	}
	if k.box, err = cipher.NewGCM(block); err != nil {
		return k, err
	}
	id, err := derive(master, "key-id")
	if err != nil {
		return k, err
	}
	copy(k.id[:], id)
	if k.apiKey, err = derive(master, "api-key"); err != nil {
		return k, err
	}
	if k.ip, err = derive(master, "ip"); err != nil {
		return k, err
	}
	if k.mark, err = derive(master, "mark"); err != nil {
		return k, err
	}
	if k.detail, err = derive(master, "payout-details"); err != nil {
		return k, err
	}
	k.signIn, err = derive(master, "sign-in")
	return k, err
}

// derive returns 32 bytes for a use. The names must not change, because stored values depend on
// them.
func derive(master [32]byte, use string) ([]byte, error) {
	return hkdf.Key(sha256.New, master[:], nil, "rail/"+use, 32)
}

// Seal encrypts plain for one place, named by where (such as a table and a row): in another place
// it cannot be decrypted.
func (k *Keeper) Seal(plain []byte, where string) ([]byte, error) {
	box := k.current.box
	plain, version := pack(plain)
	head := 1 + idLength + box.NonceSize()
	out := make([]byte, head, head+len(plain)+box.Overhead())
	out[0] = version
	copy(out[1:], k.current.id[:])
	nonce := out[1+idLength:]
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("secret: %w", err)
	}
	return box.Seal(out, nonce, plain, place(where, version)), nil //nolint:gosec // the nonce is random
}

// Open decrypts a value that Seal encrypted for the same place, with the current key or a former
// one.
func (k *Keeper) Open(sealed []byte, where string) ([]byte, error) {
	for _, one := range append([]keys{k.current}, k.former...) {
		if plain, err := one.open(sealed, where); err == nil {
			return plain, nil
		}
	}
	return nil, ErrSealed
}

// open opens a value of any version if this key sealed it.
func (k *keys) open(sealed []byte, where string) ([]byte, error) {
	head := 1
	if by := SealedBy(sealed); by == hex.EncodeToString(k.id[:]) {
		head += idLength
	} else if by != "" {
		return nil, ErrSealed
	}
	n := head + k.box.NonceSize()
	if len(sealed) < n || head == 1 && sealed[0] != version1 {
		return nil, ErrSealed
	}
	plain, err := k.box.Open(nil, sealed[head:n], sealed[n:], place(where, sealed[0]))
	if err == nil && sealed[0] == version3 {
		return unpack(plain)
	}
	return plain, err
}

// Current reports whether a value is sealed with the current key.
func (k *Keeper) Current(sealed []byte) bool { return SealedBy(sealed) == k.Fingerprint() }

// Fingerprint names the current secret key and reveals nothing about it.
func (k *Keeper) Fingerprint() string { return hex.EncodeToString(k.current.id[:]) }

// Fingerprints names the current secret key and then the former ones.
func (k *Keeper) Fingerprints() []string {
	out := []string{k.Fingerprint()}
	for _, old := range k.former {
		out = append(out, hex.EncodeToString(old.id[:]))
	}
	return out
}

// SealedBy returns the fingerprint of the secret key that sealed a value, or "" if the value does
// not contain it.
func SealedBy(sealed []byte) string {
	if len(sealed) <= idLength || sealed[0] != version2 && sealed[0] != version3 {
		return ""
	}
	return hex.EncodeToString(sealed[1 : 1+idLength])
}

// FormerAPIKeyHashes returns the stored hashes of an API key under former secret keys.
func (k *Keeper) FormerAPIKeyHashes(token string) [][]byte {
	out := make([][]byte, len(k.former))
	for i, old := range k.former {
		out[i] = mac(old.apiKey, token)
	}
	return out
}

// HashAPIKey returns the stored hash of an API key.
func (k *Keeper) HashAPIKey(token string) []byte { return mac(k.current.apiKey, token) }

// HashIP returns 16 bytes that recognize an address within a program, in every spelling, and reveal
// nothing about it. With a new secret key all addresses are new.
func (k *Keeper) HashIP(programID, ip string) []byte {
	if a, err := netip.ParseAddr(ip); err == nil {
		ip = a.Unmap().WithZone("").String()
	}
	return mac(k.current.ip, programID+"\x00"+ip)[:16]
}

// Mark returns a short proof that this server wrote text, such as an address in a mail. Marked
// verifies it, also under former keys.
func (k *Keeper) Mark(text string) string { return k.current.marked(text) }

// Marked reports whether mark is the Mark of text.
func (k *Keeper) Marked(text, mark string) bool {
	ok := hmac.Equal([]byte(k.current.marked(text)), []byte(mark))
	for i := range k.former {
		ok = ok || hmac.Equal([]byte(k.former[i].marked(text)), []byte(mark))
	}
	return ok
}

func (k *keys) marked(text string) string { return hex.EncodeToString(mac(k.mark, text)[:16]) }

// HashDevice returns 16 bytes that recognize a browser's description of itself within a program.
func (k *Keeper) HashDevice(programID, userAgent string) []byte {
	return mac(k.current.ip, programID+"\x00device\x00"+userAgent)[:16]
}

// HashSignIn returns 16 bytes that recognize the account or the address of a sign-in attempt, and
// reveal nothing about it.
func (k *Keeper) HashSignIn(subject string) []byte { return mac(k.current.signIn, subject)[:16] }

// HashDetails returns a hash that recognizes payout details within a program.
func (k *Keeper) HashDetails(programID, text string) []byte {
	return mac(k.current.detail, programID+"\x00"+text)
}

// HashToken returns the stored hash of a random token. The token is as strong as a key, so the hash
// needs none.
func HashToken(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// NameOf returns a name that identifies a token without revealing it, such as the key of a mail with a link.
func NameOf(token string) string { return hex.EncodeToString(HashToken(token)[:16]) }

// mac returns the HMAC-SHA256 of text.
func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
