package portal

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/oapi-codegen/nullable"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/program/portalsettings"
	"rail/server/program/tracking"
	"rail/server/work"
)

// linkFields are those of the form that makes a link.
var linkFields = []string{"destination_url", "label", "slug", "utm_source", "utm_medium", "utm_campaign"}

// linkForm is the form that makes a link, as it is shown.
type linkForm struct {
	Form  site.Form
	Hosts string // where links may lead
	Most  int64  // 0 where partners make none
	Short string // what short addresses begin with
}

// linkForm is the form with the typed values and their faults.
func (v *visit) linkForm(form site.Form) (linkForm, error) {
	s, err := portalsettings.Of(v.Ctx(), v.portal.Pool, v.partner.OrgID, v.program.ID)
	own := tracking.OwnLink{Program: v.program, Hosts: s.LinkHosts}
	if form.Values == nil {
		form.Values = map[string]string{"destination_url": v.program.WebsiteURL}
	}
	return linkForm{form, strings.Join(own.Names(), ", "), s.MaxLinks, tracking.ShortURL(v.portal.ShortURL, "")}, err
}

// addLink makes a link that the partner asks for.
func addLink(v *visit) error {
	s, err := portalsettings.Of(v.Ctx(), v.portal.Pool, v.partner.OrgID, v.program.ID)
	if err != nil {
		return err
	}
	own := tracking.OwnLink{
		Program: v.program, PartnerID: v.partner.ID, Destination: secured(v.Form.Value("destination_url")),
		Label: v.Form.Value("label"), Slug: v.Form.Value("slug"), Campaign: map[string]string{},
		Hosts: s.LinkHosts, Most: s.MaxLinks,
	}
	for _, name := range linkFields[3:] {
		own.Campaign[name] = v.Form.Value(name)
	}
	if err = v.storeLink(own); err == nil {
		return v.done("/portal/links", "link")
	}
	wrong := v.faults(err, linkFields...)
	if wrong == nil {
		return err
	}
	return v.showLinks(http.StatusUnprocessableEntity, site.Form{Values: v.Form.Typed(linkFields...), Errors: wrong})
}

// storeLink validates a link like a request of the API, and makes it.
func (v *visit) storeLink(own tracking.OwnLink) error {
	body := map[string]any{
		"program_id": v.program.ID, "partner_id": v.partner.ID, "destination_url": own.Destination,
		"label": cmp.Or(own.Label, own.Slug, "x"),
	}
	if err := v.portal.Document.ValidateBody("LinkCreate", body); err != nil {
		return err
	}
	return v.write(func(ctx context.Context) error {
		l, err := tracking.CreateOwn(ctx, work.From(ctx), own)
		if err != nil {
			return err
		}
		return v.audit(ctx, "link.created", l.ID, nil, auditLinkMembers(l))
	})
}

// auditLinkMembers returns the members of a link that the audit log has.
func auditLinkMembers(l db.Link) map[string]any {
	return map[string]any{"destination_url": l.DestinationURL, "label": l.Label, "value": l.Value, "short_slug": l.ShortSlug}
}

// renameLink gives a link of the partner another name, or none.
func renameLink(v *visit) error {
	l, err := v.link(v.Form.Value("id"))
	if err != nil {
		return err
	}
	label := nullable.NewNullNullable[string]()
	if text := v.Form.Value("label"); text != "" {
		label = nullable.NewNullableWithValue(text)
	}
	body := map[string]any{"label": v.Form.Value("label")}
	if err := v.portal.Document.ValidateBody("LinkUpdate", body); err != nil {
		return err
	}
	err = v.write(func(ctx context.Context) error {
		now, err := tracking.UpdateLink(ctx, work.From(ctx), l.ID, tracking.LinkChanges{Label: label})
		if err != nil {
			return err
		}
		return v.audit(ctx, "link.updated", l.ID, auditLinkMembers(l), auditLinkMembers(now))
	})
	if err != nil {
		return err
	}
	return v.done("/portal/links", "renamed")
}

// deleteLink puts a link of the partner away. Where it was published, it goes on counting.
func deleteLink(v *visit) error {
	l, err := v.link(v.Form.Value("id"))
	if err != nil {
		return err
	}
	err = v.write(func(ctx context.Context) error {
		if err := tracking.DeleteLink(ctx, work.From(ctx), l.ID); err != nil {
			return err
		}
		return v.audit(ctx, "link.deleted", l.ID, auditLinkMembers(l), nil)
	})
	if err != nil {
		return err
	}
	return v.done("/portal/links", "away")
}

// secured is an address as people type it, with https:// in front where nothing is.
func secured(address string) string {
	if address == "" || strings.Contains(address, "://") {
		return address
	}
	return "https://" + address
}
