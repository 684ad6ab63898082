package console

import (
	"net/http"
	"net/url"
	"strings"

	"rail/gen/api"
	"rail/server/locale"
	"rail/server/opt"
)

// letterData is the frame with a mail as a partner gets it, and the number of recipients.
type letterData struct {
	api.CampaignEmail
	Total, Skipped int64
	Sent           string // how many partners got it, in words; "" for a mail that is not sent
	Reader         string // the partner who gets it, in a sentence, if they do not read English
	Fault          string // why there is no mail
}

// frames lets the page have frames of this server.
func (v *visit) frames() {
	h := v.Response().Header()
	h.Set("Content-Security-Policy", h.Get("Content-Security-Policy")+"; frame-src 'self'")
}

// showLetter writes the frame. The mail in it is sandboxed; its styles are inline and its pictures may come from other
// hosts, so that the frame's policy allows both.
func (v *visit) showLetter(data letterData) error {
	h, status := v.Response().Header(), http.StatusOK
	h.Set("Content-Security-Policy", strings.NewReplacer(
		"style-src 'self'", "style-src 'self' 'unsafe-inline'", "img-src 'self' data:", "img-src 'self' data: https:",
		"frame-ancestors 'none'", "frame-ancestors 'self'",
	).Replace(h.Get("Content-Security-Policy")))
	if data.Fault != "" {
		status = http.StatusBadRequest
	}
	reader, err := v.letterReader(data.PartnerID)
	if err != nil {
		return err
	}
	data.Reader = reader
	return pages.Write(v, v.Locale, status, "mail-letter", frame{visit: v, Title: "Preview", Data: data})
}

// letterReader names the reader of a mail that is not in English, in a sentence; "" for a mail in English.
func (v *visit) letterReader(id *api.PartnerID) (string, error) {
	if id == nil {
		return "", nil
	}
	reply, err := v.console.api.RetrievePartnerWithResponse(v.Ctx(), *id, nil)
	if err != nil {
		return "", err
	}
	reads := locale.Of("", opt.Value(reply.JSON200.LanguageCode))
	if reads == locale.English {
		return "", nil
	}
	return "Shown to " + nameOf(*reply.JSON200) + ", who reads " + reads.EnglishName() + ".", nil
}

// savedLetter shows a saved mail.
func savedLetter(v *visit) error {
	reply, err := v.console.api.PreviewCampaignWithResponse(v.Ctx(), v.PathValue("id"),
		&api.PreviewCampaignParams{ProgramID: &v.program.ID, PartnerID: opt.OrNil(cleaned(v.QueryParam("partner_id")))})
	if err != nil {
		return err
	}
	one, err := v.console.api.RetrieveCampaignWithResponse(v.Ctx(), v.PathValue("id"),
		&api.RetrieveCampaignParams{ProgramID: v.program.ID})
	if err != nil {
		return err
	}
	p := reply.JSON200
	data := letterData{CampaignEmail: p.Email, Total: p.Total, Skipped: p.Skipped}
	if one.JSON200.Status == api.CampaignStatusSent {
		data.Sent = v.partnersIn(one.JSON200.Stats.Sent)
	}
	return v.showLetter(data)
}

// blankLetter shows the mail that is not written yet.
func blankLetter(v *visit) error { return v.previewLetter(map[string]any{}) }

// draftLetter shows the mail of a form that is not saved.
func draftLetter(v *visit) error {
	ids := v.values("partner_id")
	if v.PathValue("id") != "" {
		stored, err := v.mailOf()
		if err != nil {
			return err
		}
		ids = stored.Preview.Audience.PartnerIds
	}
	body := v.mailBody("previewCampaignDraft", ids)
	delete(body, "partner_id")   // those of the form are the audience
	delete(body, "scheduled_at") // no part of a preview
	if text := v.value("partner"); text != "" {
		p, err := v.whichPartner(text)
		if fault, ok := refused(err); ok {
			return v.showLetter(letterData{Fault: fault.Error()})
		}
		if err != nil {
			return err
		}
		body["partner_id"] = p.ID
	}
	return v.previewLetter(body)
}

// previewLetter shows the mail of a text.
func (v *visit) previewLetter(body map[string]any) error {
	for _, name := range []string{"subject", "body"} {
		if _, present := body[name]; !present {
			body[name] = ""
		}
	}
	body["program_id"] = v.program.ID
	url.Values(v.Form).Del("once") // the same form is previewed again and again
	var p api.CampaignDraftPreview
	err := v.send("previewCampaignDraft", body, &p)
	if fault, ok := refused(err); ok {
		return v.showLetter(letterData{Fault: fault.Error()})
	}
	if err != nil {
		return err
	}
	return v.showLetter(letterData{CampaignEmail: p.Email, Total: p.Total, Skipped: p.Skipped})
}
