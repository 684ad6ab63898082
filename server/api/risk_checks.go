package api

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/call"
	"rail/server/event"
	"rail/server/ident"
)

// finding is what a check found: about a partner, or one customer of a partner's.
// signals are flat facts beside the check and the summary; nothing personal
// beyond what decisions 146 says.
type finding struct {
	programID, partnerID string
	customerID           *string
	kind, severity       string
	summary              string
	signals              map[string]any
}

// flag opens a risk flag, unless the same one is open (decisions, 148).
func flag(ctx context.Context, c *call.Call, f finding) error {
	facts := map[string]any{"check": f.kind, "summary": f.summary}
	for name, value := range f.signals {
		facts[name] = value
	}
	evidence, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	row := db.RiskFlagOpenParams{
		ID: ident.New(ident.RiskFlag), OrgID: c.Key.OrgID, ProgramID: f.programID, PartnerID: &f.partnerID, CustomerID: f.customerID, Kind: f.kind,
		Severity: f.severity, Evidence: evidence, CreatedAt: c.Now,
	}
	opened, err := queries.RiskFlagOpen(ctx, c.DB(), row)
	if err != nil || opened == 0 {
		return err
	}
	c.Events.Record("risk_flag.created", event.Subject{ProgramID: f.programID, PartnerID: f.partnerID, ID: row.ID}, api.RiskFlagCreatedData{
		RiskFlagID: row.ID, PartnerID: &f.partnerID, CustomerID: f.customerID, Kind: f.kind, Severity: api.RiskFlagSeverity(f.severity), Evidence: evidence,
	})
	return nil
}

// clickIDs are the parameters by which advertising networks mark paid clicks
// (decisions, 147).
var clickIDs = []string{"gclid", "fbclid", "msclkid", "ttclid", "twclid", "li_fat_id"}

// checkClick looks for paid traffic.
func (s *Server) checkClick(ctx context.Context, c *call.Call, v visit) error {
	if !s.FraudMonitoring || !strings.Contains(v.landingURL, "cl") && !strings.Contains(v.landingURL, "li_fat_id") {
		return nil
	}
	u, err := url.Parse(v.landingURL)
	if err != nil {
		return nil // it was judged before
	}
	query := u.Query()
	for _, name := range clickIDs {
		if query.Has(name) {
			return flag(ctx, c, finding{
				programID: v.programID, partnerID: v.partnerID, kind: "paid_traffic", severity: "low",
				summary: "A visitor came through a paid advertisement.", signals: map[string]any{"parameter": name},
			})
		}
	}
	return nil
}

// checkCustomer looks at the address of a new customer.
func (s *Server) checkCustomer(ctx context.Context, c *call.Call, p db.Partner, k db.Customer) error {
	if !s.FraudMonitoring || k.Email == nil {
		return nil
	}
	domain, own := domainOf(*k.Email), domainOf(p.Email)
	if slices.Contains(disposable, domain) {
		f := finding{
			programID: p.ProgramID, partnerID: p.ID, customerID: &k.ID, kind: "disposable_email", severity: "medium",
			summary: "The customer's e-mail address is of a provider of throw-away addresses.", signals: map[string]any{"domain": domain},
		}
		if err := flag(ctx, c, f); err != nil {
			return err
		}
	}
	if domain == "" || domain != own || slices.Contains(free, domain) || normalEmail(*k.Email) == normalEmail(p.Email) {
		return nil
	}
	return flag(ctx, c, finding{
		programID: p.ProgramID, partnerID: p.ID, customerID: &k.ID, kind: "self_referral_domain", severity: "medium",
		summary: "The customer's e-mail address is of the partner's own domain.", signals: map[string]any{"domain": domain},
	})
}

func domainOf(email string) string {
	return strings.ToLower(email[strings.LastIndexByte(email, '@')+1:])
}

// free are the larger providers of addresses for everybody, which tell nothing
// of who belongs together; disposable those of addresses for minutes.
var (
	free = strings.Fields(`gmail.com googlemail.com outlook.com hotmail.com live.com msn.com yahoo.com ymail.com rocketmail.com yahoo.co.uk yahoo.de
		yahoo.fr icloud.com me.com mac.com aol.com proton.me protonmail.com pm.me gmx.com gmx.de gmx.net gmx.at gmx.ch web.de t-online.de freenet.de mail.com
		zoho.com fastmail.com tutanota.com tuta.io hey.com hotmail.co.uk hotmail.fr hotmail.de live.co.uk orange.fr wanadoo.fr free.fr laposte.net sfr.fr
		libero.it virgilio.it tiscali.it alice.it mail.ru yandex.ru yandex.com bk.ru list.ru inbox.ru rambler.ru qq.com 163.com 126.com sina.com foxmail.com
		naver.com daum.net hanmail.net comcast.net verizon.net att.net sbcglobal.net bellsouth.net cox.net charter.net btinternet.com sky.com
		virginmedia.com bigpond.com optusnet.com.au uol.com.br bol.com.br terra.com.br seznam.cz centrum.cz wp.pl o2.pl interia.pl onet.pl`)
	disposable = strings.Fields(`mailinator.com guerrillamail.com guerrillamail.net guerrillamail.org guerrillamailblock.com sharklasers.com grr.la spam4.me
		10minutemail.com 10minutemail.net 20minutemail.com tempmail.com temp-mail.org temp-mail.io tempmail.net tempmailo.com tempr.email tempinbox.com
		throwawaymail.com trashmail.com trashmail.de trashmail.net trash-mail.com yopmail.com yopmail.fr yopmail.net getnada.com nada.email maildrop.cc
		mailnesia.com mailcatch.com mintemail.com mohmal.com moakt.com dispostable.com discard.email discardmail.com fakeinbox.com fakemailgenerator.com
		emailondeck.com getairmail.com inboxkitten.com mailsac.com mytemp.email spamgourmet.com spambox.us tempail.com burnermail.io mail-temp.com
		emailfake.com 1secmail.com 1secmail.net 1secmail.org dropmail.me harakirimail.com incognitomail.org jetable.org linshiyouxiang.net minuteinbox.com
		einrot.com cuvox.de dayrep.com fleckens.hu gustr.com jourrapide.com rhyta.com superrito.com teleworm.us armyspy.com`)
)
