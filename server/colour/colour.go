// Package colour mixes colours and calculates the contrast of text and background.
package colour

import (
	"fmt"
	"math"
	"strconv"
)

// Readable is the minimum contrast of text and background (WCAG 2.2, 1.4.3).
const Readable = 4.5

// Visible is the minimum contrast of shapes and their background (WCAG 2.2, 1.4.11).
const Visible = 3.0

// RGB is red, green and blue.
type RGB [3]uint8

// White and Black are the extremes of contrast.
var (
	White = RGB{255, 255, 255}
	Black = RGB{}
)

// Parse reads #rrggbb; any other text is black.
func Parse(text string) (c RGB) {
	if len(text) != 7 {
		return c
	}
	n, err := strconv.ParseUint(text[1:], 16, 24)
	if err != nil {
		return c
	}
	return RGB{uint8(n >> 16), uint8(n >> 8), uint8(n)}
}

// String returns the colour as #rrggbb.
func (c RGB) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// Mix returns the colour with a share of another.
func (c RGB) Mix(with RGB, share float64) (out RGB) {
	for i := range c {
		out[i] = uint8(math.Round(float64(c[i])*(1-share) + float64(with[i])*share))
	}
	return out
}

// MixUntil mixes a colour with another, with the smallest share from the given one on that holds.
func (c RGB) MixUntil(with RGB, share float64, holds func(RGB) bool) RGB {
	for ; share < 1; share += 0.02 {
		if x := c.Mix(with, share); holds(x) {
			return x
		}
	}
	return with
}

// Ink returns white or black, whichever is more readable on the colour.
func (c RGB) Ink() RGB {
	if Contrast(White, c) >= Contrast(Black, c) {
		return White
	}
	return Black
}

// luminance is the brightness of a colour, from 0 to 1.
func (c RGB) luminance() float64 {
	var of [3]float64
	for i, v := range c {
		if of[i] = float64(v) / 255; of[i] <= 0.04045 {
			of[i] /= 12.92
			continue
		}
		of[i] = math.Pow((of[i]+0.055)/1.055, 2.4)
	}
	return 0.2126*of[0] + 0.7152*of[1] + 0.0722*of[2]
}

// Contrast returns the contrast of two colours, from 1 to 21.
func Contrast(a, b RGB) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}
