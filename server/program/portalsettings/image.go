package portalsettings

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"

	"rail/gen/db"
	"rail/server/problem"
)

// The maximum sizes of images.
const (
	MaxLogoBytes = 200_000
	MaxHeroBytes = 500_000
)

// kind is a kind of image.
type kind struct {
	name       db.PortalImageKind
	param, the string // the member of a body, and the subject of a message
	most       int
}

var (
	logo     = kind{db.PortalImageKindLogo, "logo.data", "The logo", MaxLogoBytes}
	logoDark = kind{db.PortalImageKindLogoDark, "logo_dark.data", "The logo", MaxLogoBytes}
	hero     = kind{db.PortalImageKindHero, "hero.data", "The picture", MaxHeroBytes}
)

// image is a decoded image.
type image struct {
	mediaType, version string
	body               []byte
}

// read decodes an image of a body. Its bytes determine the media type, not the caller, since browsers are told to
// trust ours.
func (k kind) read(data string) (image, error) {
	body, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return image{}, problem.Invalid(k.param, "%s must be base64.", k.param)
	}
	if len(body) > k.most {
		return image{}, problem.Invalid(k.param, "%s has %d bytes; the maximum is %d.", k.the, len(body), k.most)
	}
	mediaType := mediaTypeOf(body)
	if mediaType == "" {
		return image{}, problem.Invalid(k.param, "%s must be an image: PNG, JPEG, WebP or GIF.", k.the)
	}
	sum := sha256.Sum256(body)
	return image{mediaType, hex.EncodeToString(sum[:8]), body}, nil
}

// mediaTypeOf returns the media type of an image, "" for anything else.
func mediaTypeOf(body []byte) string {
	begins := func(mark string) bool { return bytes.HasPrefix(body, []byte(mark)) }
	switch {
	case begins("\x89PNG\r\n\x1a\n"):
		return "image/png"
	case begins("\xff\xd8\xff"):
		return "image/jpeg"
	case begins("GIF87a"), begins("GIF89a"):
		return "image/gif"
	case begins("RIFF") && len(body) > 12 && string(body[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}
