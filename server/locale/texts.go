package locale

import (
	"embed"
	"encoding/json"
	"errors"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message/catalog"
)

//go:embed messages
var files embed.FS

// texts are the translations. A text without one is shown in English.
var texts = func() catalog.Catalog {
	b := catalog.NewBuilder(catalog.Fallback(language.English))
	for _, tag := range []string{"en", "de", "fr", "es", "pt-BR", "ja"} {
		for text, translation := range read(tag) {
			if err := b.Set(language.MustParse(tag), text, translation.message()); err != nil {
				panic(tag + ": " + text + ": " + err.Error()) // it is embedded
			}
		}
	}
	return b
}()

// translation is a text in a language: a string, or an object of the plural categories of
// CLDR (one, many, other) by which its first number counts.
type translation map[string]string

// UnmarshalJSON takes a string as the category other.
func (t *translation) UnmarshalJSON(raw []byte) error {
	if strings.HasPrefix(string(raw), "{") {
		return json.Unmarshal(raw, (*map[string]string)(t))
	}
	var text string
	err := json.Unmarshal(raw, &text)
	*t = translation{"other": text}
	return err
}

// message is the translation for the catalogue. The category other comes last, as it takes
// every number.
func (t translation) message() catalog.Message {
	if len(t) == 1 {
		return catalog.String(t["other"])
	}
	var cases []any
	for _, category := range []string{"one", "many"} {
		if text, ok := t[category]; ok {
			cases = append(cases, category, text)
		}
	}
	return plural.Selectf(1, "%d", append(cases, "other", t["other"])...)
}

// read returns the texts of a language, from the files of its folder, one for each site.
func read(tag string) map[string]translation {
	folder := "messages/" + tag + "/"
	entries, err := files.ReadDir(folder[:len(folder)-1])
	out := map[string]translation{}
	for _, e := range entries {
		raw, _ := files.ReadFile(folder + e.Name()) // it was listed
		err = errors.Join(err, json.Unmarshal(raw, &out))
	}
	if err != nil {
		panic(tag + ": " + err.Error()) // it is embedded
	}
	return out
}
