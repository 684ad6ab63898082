package api

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"rail/gen/db"
	"rail/server/call"
	"rail/server/risk"
)

// flag opens the flag of a finding, unless the same one is open (decisions, 148).
func flag(ctx context.Context, c *call.Call, f risk.Finding) error {
	_, err := risk.Open(ctx, c.DB(), c.Events, f)
	return err
}

// clickIDs are the parameters by which advertising networks mark paid clicks
// (decisions, 147).
var clickIDs = []string{"gclid", "fbclid", "msclkid", "ttclid", "twclid", "li_fat_id"}

// checkClick looks for paid traffic.
func (s *Server) checkClick(ctx context.Context, c *call.Call, v visit) error {
	if !s.plan(c).FraudMonitoring || !strings.Contains(v.landingURL, "cl") && !strings.Contains(v.landingURL, "li_fat_id") {
		return nil
	}
	u, err := url.Parse(v.landingURL)
	if err != nil {
		return nil // it was judged before
	}
	query := u.Query()
	for _, name := range clickIDs {
		if query.Has(name) {
			return flag(ctx, c, risk.Finding{
				ProgramID: v.programID, PartnerID: v.partnerID, Kind: "paid_traffic", Severity: "low",
				Summary: "A visitor came through a paid advertisement.", Signals: map[string]any{"parameter": name},
			})
		}
	}
	return nil
}

// checkCustomer looks at the address of a new customer.
func (s *Server) checkCustomer(ctx context.Context, c *call.Call, p db.Partner, k db.Customer) error {
	if !s.plan(c).FraudMonitoring || k.Email == nil {
		return nil
	}
	domain, own := domainOf(*k.Email), domainOf(p.Email)
	if slices.Contains(disposable, domain) {
		f := risk.Finding{
			ProgramID: p.ProgramID, PartnerID: p.ID, CustomerID: &k.ID, Kind: "disposable_email", Severity: "medium",
			Summary: "The customer's e-mail address is of a provider of throw-away addresses.", Signals: map[string]any{"domain": domain},
		}
		if err := flag(ctx, c, f); err != nil {
			return err
		}
	}
	if domain == "" || domain != own || slices.Contains(free, domain) || normalEmail(*k.Email) == normalEmail(p.Email) {
		return nil
	}
	return flag(ctx, c, risk.Finding{
		ProgramID: p.ProgramID, PartnerID: p.ID, CustomerID: &k.ID, Kind: "self_referral_domain", Severity: "medium",
		Summary: "The customer's e-mail address is of the partner's own domain.", Signals: map[string]any{"domain": domain},
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
