package console

// templates are the names of all pages' templates.
var templates = []string{
	"account",
	"code",
	"factor",
	"groups",
	"home",
	"keys",
	"link",
	"log",
	"new-program",
	"note",
	"recovery",
	"settings",
	"setup",
	"sign-in",
	"team",
}
