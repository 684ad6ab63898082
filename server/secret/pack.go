package secret

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// packFrom is the size, in bytes, from which a value is compressed before it is
// sealed. Sealed bytes no longer compress.
const packFrom = 4 << 10

// packing returns the encoder and decoder, which any number of callers share.
var packing = sync.OnceValues(func() (p struct {
	*zstd.Encoder
	*zstd.Decoder
}, err error) {
	if p.Encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithAllLitEntropyCompression(true)); err != nil {
		return p, err
	}
	p.Decoder, err = zstd.NewReader(nil)
	return p, err
})

// pack returns a value as it is to be sealed, and the version that shows whether it
// was compressed.
func pack(plain []byte) ([]byte, byte) {
	if len(plain) < packFrom {
		return plain, version2
	}
	p, err := packing()
	if err != nil {
		return plain, version2
	}
	if packed := p.EncodeAll(plain, nil); len(packed) < len(plain) {
		return packed, version3
	}
	return plain, version2
}

// unpack undoes the compression of version 3.
func unpack(packed []byte) ([]byte, error) {
	p, err := packing()
	if err != nil {
		return nil, err
	}
	return p.DecodeAll(packed, nil)
}

// place returns what a value of a version is bound to. Version 3 is part of it, so
// that a compressed value cannot pass for another one.
func place(where string, version byte) []byte {
	if version == version3 {
		where += "\x00packed"
	}
	return []byte(where)
}
