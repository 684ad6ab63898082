package tracking

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/list"
	"rail/server/locale/plain"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/publishable"
	"rail/server/work"
)

// slugForm matches a short name chosen by a partner.
var slugForm = regexp.MustCompile(`^[a-z0-9]{3,32}$`)

// campaignFields are the campaign parameters of a partner's link, in the order in which they are added.
var campaignFields = []string{"utm_source", "utm_medium", "utm_campaign"}

// everFactor bounds how many links a partner may ever create, as a multiple of its limit.
const everFactor = 10

// OwnLink is a link created by a partner. It may lead to pages of Hosts, and Most is the partner's limit of
// links. A Slug is part of its short address, and distinguishes its visitors from those of the partner's other
// links.
type OwnLink struct {
	Program                       db.Program
	PartnerID, Destination, Label string
	Slug                          string
	Campaign                      map[string]string
	Hosts                         []string
	Most                          int64
}

// CreateOwn adds a link created by a partner (decisions, 270 and 271).
func CreateOwn(ctx context.Context, u *work.Unit, in OwnLink) (db.Link, error) {
	destination, err := in.destination()
	if err != nil {
		return db.Link{}, err
	}
	// Under the lock, so that concurrent forms cannot exceed the limit.
	lock := db.PartnerLockParams{ID: in.PartnerID, OrgID: u.OrgID}
	if _, err := queries.PartnerLock(ctx, u.DB(), lock); err != nil {
		return db.Link{}, err
	}
	has, err := list.Of(ctx, u, list.In(in.Program.ID, new(int64(1)), nil, nil), db.LinkList{PartnerID: &in.PartnerID})
	if err != nil {
		return db.Link{}, err
	}
	// Hidden links keep their names, so they are bounded, too.
	ever, err := queries.LinksCountWithDeleted(ctx, u.DB(), db.LinksCountWithDeletedParams{
		ProgramID: in.Program.ID, OrgID: u.OrgID, PartnerID: in.PartnerID,
	})
	if err != nil {
		return db.Link{}, err
	}
	if has.Total >= in.Most || ever >= in.Most*everFactor {
		return db.Link{}, problem.Invalid("", "You’ve reached the program’s limit of links.")
	}
	link := LinkInput{ProgramID: in.Program.ID, PartnerID: in.PartnerID, DestinationURL: destination}
	link.Label = opt.OrNil(strings.TrimSpace(plain.Name(in.Label)))
	if in.Slug == "" {
		return CreateLink(ctx, u, link)
	}
	if link.Slug, err = in.slug(ctx, u); err != nil {
		return db.Link{}, err
	}
	link.Value = link.Slug
	return CreateLink(ctx, u, link)
}

// slug returns the short name, if it is valid and free in all programs, since all share the server's short
// addresses.
func (in OwnLink) slug(ctx context.Context, u *work.Unit) (*string, error) {
	slug := strings.ToLower(in.Slug)
	if !slugForm.MatchString(slug) {
		return nil, problem.Invalid("slug", "A short name has 3 to 32 letters and digits.")
	}
	_, err := queries.LinkBySlug(ctx, u.DB(), &slug)
	switch {
	case err == nil:
		return nil, problem.Invalid("slug", "This short name is taken.")
	case !errors.Is(err, pgx.ErrNoRows):
		return nil, err
	}
	return &slug, nil
}

// destination returns the page with the campaign's parameters, if the program allows it.
func (in OwnLink) destination() (string, error) {
	u, err := url.Parse(in.Destination)
	if err != nil || u.User != nil || !in.allows(u) {
		return "", problem.Invalid("destination_url", "This must be a page of the program.")
	}
	address := in.Destination
	for _, name := range campaignFields {
		if value := in.Campaign[name]; value != "" {
			address = URL(address, name, value)
		}
	}
	return address, nil
}

// Names returns the hosts that the link may lead to, the website's first.
func (in OwnLink) Names() []string {
	home, err := url.Parse(in.Program.WebsiteURL)
	if err != nil {
		return in.Hosts
	}
	return append([]string{publishable.ASCII(home.Host)}, in.Hosts...)
}

// allows reports whether the link may lead to an address. Only programs with an unencrypted website may link to
// unencrypted pages.
func (in OwnLink) allows(at *url.URL) bool {
	home, err := url.Parse(in.Program.WebsiteURL)
	if err != nil || at.Scheme != "https" && at.Scheme != home.Scheme {
		return false
	}
	to, ok := publishable.ParseOrigin(at.Scheme + "://" + at.Host)
	return ok && publishable.Allows(in.Names(), to)
}
