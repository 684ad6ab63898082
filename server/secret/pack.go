package secret

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// packFrom is the size in bytes from which a value is compressed before it is sealed. Sealed bytes
// cannot be compressed.
const packFrom = 4 << 10

// packing returns the encoder and decoder, which all callers share.
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

// pack returns the bytes to seal, compressed if they are large, and their version.
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

// place returns the additional data of a value. It includes version 3, so that a compressed value
// cannot pass for an uncompressed one.
func place(where string, version byte) []byte {
	if version == version3 {
		where += "\x00packed"
	}
	return []byte(where)
}
