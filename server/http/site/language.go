package site

import (
	"slices"
	"strings"
	"time"

	"rail/server/locale"
)

// languageCookie is the cookie with the language that a visitor chose. Portal and join pages share it.
const languageCookie = "rail_language"

// languageLife is how long a browser remembers the choice.
const languageLife = 365 * 24 * time.Hour

// Language is a choice of the language of pages.
type Language struct {
	Code, Name string
	Path       string // of this page in the language; "" where a form sends the choice
	Current    bool
}

// ReadLanguage sets the visit's language: that of the parameter language, which the browser then remembers, or the
// remembered one. Without either it stays that of Accept-Language, and the result is false.
func (v *Visit) ReadLanguage() bool {
	k := Cookie{Name: languageCookie, Path: "/", Secure: strings.HasPrefix(v.site.BaseURL, "https:")}
	if l := languageOf(v.QueryParam("language")); l != nil {
		v.Locale = l
		k.Set(v, l.Language(), languageLife)
		return true
	}
	l := languageOf(k.Value(v))
	if l != nil {
		v.Locale = l
	}
	return l != nil
}

// languageOf returns the locale with exactly this code; nil for none.
func languageOf(code string) *locale.Locale {
	all := locale.All()
	at := slices.IndexFunc(all, func(l *locale.Locale) bool { return l.Language() == code })
	if at < 0 {
		return nil
	}
	return all[at]
}

// Languages returns the choices of language as links to this page.
func (v *Visit) Languages() []Language {
	out := v.LanguageChoices()
	for i := range out {
		query := v.Request().URL.Query()
		query.Set("language", out[i].Code)
		out[i].Path = v.Request().URL.Path + "?" + query.Encode()
	}
	return out
}

// LanguageChoices returns the choices of language, without paths.
func (v *Visit) LanguageChoices() (out []Language) {
	for _, l := range locale.All() {
		out = append(out, Language{Code: l.Language(), Name: l.Name(), Current: l == v.Locale.Base()})
	}
	return out
}
