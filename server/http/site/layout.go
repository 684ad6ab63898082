package site

import "rail/gen/db"

// Layout surrounds the content of every page, by the templates "top" and "bottom". The data of a page has it as Layout.
type Layout struct {
	Title     string // of the page; in the document's title, Name or Service follows
	Service   string // the product's name, if the document's title has it in place of Name
	Name      string // of the program, in the header; "" for a page without a header
	Home      string // the address of the name; "" for none
	Part      string // beside the name
	Branding         // of the program
	Share     *Share // how other sites show a link to the page; nil for pages that are not public
	Account   Account
	Switch    Switch
	FormToken string
	Tabs      []Link // the pages of a site with few; below the header
	Menu      Menu   // the pages of a site with many; beside the content
	Switcher  Switcher
	Search    string // the address of the search page of a site with a menu; "" for none
	Script    string // the site's script; "" for none
	Flash     string
	Undo      Undo // the form beside Flash
	Alert     string
	Narrow    bool // the content has the width of a text
	Refresh   int  // the seconds after which a browser without scripts loads the page again; 0 for never
	Framed    bool // the page is in a frame of another site
	Languages []Language
	Speak     string // the action of the form that saves a language; "" if Languages are links
}

// Branding is the design of a program: its typeface and the addresses of its style sheet and logos, "" for the default
// or none. LogoDark is the logo in dark mode.
type Branding struct {
	Typeface              db.Typeface
	Style, Logo, LogoDark string
}

// Font returns the address of the font of most letters; "" for one of the reader's device.
func (b Branding) Font() string {
	switch b.Typeface {
	case "", db.TypefaceInter:
		return fonts["inter-latin.woff2"]
	case db.TypefaceRounded:
		return fonts["nunito-latin.woff2"]
	}
	return ""
}

// Share is how other sites show a link to a page (Open Graph). Picture has 1200 by 630 pixels.
type Share struct{ Title, Text, URL, Picture string }

// Switch lists what else the signed-in person can open with this sign-in, below the name in the header.
type Switch struct {
	Action string // of the form; its buttons send the value as "to"
	Places []Place
}

// Place is an entry of a Switch.
type Place struct{ Value, Name, Logo string }

// Account is the signed-in person in the header; the zero value if signed out.
type Account struct {
	Name    string
	Path    string // of the person's settings; "" for none
	SignOut string // the action of the form
}

// SignedIn reports whether the page has a person.
func (l Layout) SignedIn() bool { return l.Account.SignOut != "" }

// Wide reports whether the page has a menu beside it.
func (l Layout) Wide() bool { return len(l.Menu.Groups) > 0 }

// Owner returns the name in the document's title.
func (l Layout) Owner() string {
	if l.Service != "" {
		return l.Service
	}
	return l.Name
}
