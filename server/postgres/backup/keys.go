package backup

import (
	"crypto/cipher"
	"crypto/rand"
	"errors"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"
)

// ErrPassphrase means that a passphrase does not decrypt the keys of a backup.
var ErrPassphrase = errors.New("this is not the passphrase of the backup")

// The cost of one guess at a passphrase: about 0.1 s of one core.
const (
	passes  = 3
	memory  = 64 << 10 // KiB
	threads = 4
)

// Limits of a file's parameters: a damaged or hostile one must not use up the memory.
const (
	maxPasses = 20
	maxMemory = 1 << 20
)

// place is the place for which the keys are sealed.
const place = "rail backup, secret keys"

// SealedKeys are the server's secret keys, sealed with a passphrase: argon2id and
// XChaCha20-Poly1305.
type SealedKeys struct {
	Passes    uint32 `json:"argon2id_passes"`
	MemoryKiB uint32 `json:"argon2id_memory_kib"`
	Threads   uint8  `json:"argon2id_threads"`
	Salt      []byte `json:"salt"`
	Nonce     []byte `json:"nonce"`
	Box       []byte `json:"box"`
}

// SealKeys seals keys with a passphrase.
func SealKeys(keys [][32]byte, passphrase string) (*SealedKeys, error) {
	s := &SealedKeys{
		Passes:    passes,
		MemoryKiB: memory,
		Threads:   threads,
		Salt:      make([]byte, 16),
		Nonce:     make([]byte, chacha20poly1305.NonceSizeX),
	}
	for _, b := range [][]byte{s.Salt, s.Nonce} {
		if _, err := rand.Read(b); err != nil {
			return nil, err
		}
	}
	// Salt and nonce are new for each backup, so that equal passphrases seal differently.
	box, err := s.cipher(passphrase)
	if err != nil {
		return nil, err
	}
	var plain []byte
	for _, k := range keys {
		plain = append(plain, k[:]...)
	}
	s.Box = box.Seal(nil, s.Nonce, plain, []byte(place))
	return s, nil
}

// Open returns the keys, the current one first. It fails with ErrPassphrase, or with ErrDamaged if
// the parameters are out of bounds.
func (s *SealedKeys) Open(passphrase string) ([][32]byte, error) {
	if s.Passes < 1 || s.Passes > maxPasses || s.MemoryKiB > maxMemory || s.Threads < 1 ||
		len(s.Nonce) != chacha20poly1305.NonceSizeX {
		return nil, ErrDamaged
	}
	box, err := s.cipher(passphrase)
	if err != nil {
		return nil, err
	}
	plain, err := box.Open(nil, s.Nonce, s.Box, []byte(place))
	if err != nil || len(plain) == 0 || len(plain)%32 != 0 {
		return nil, ErrPassphrase
	}
	var keys [][32]byte
	for ; len(plain) > 0; plain = plain[32:] {
		keys = append(keys, [32]byte(plain))
	}
	return keys, nil
}

// cipher derives the key from the passphrase with the parameters of the file.
func (s *SealedKeys) cipher(passphrase string) (cipher.AEAD, error) {
	return chacha20poly1305.NewX(argon2.IDKey([]byte(passphrase), s.Salt, s.Passes, s.MemoryKiB, s.Threads,
		chacha20poly1305.KeySize))
}
