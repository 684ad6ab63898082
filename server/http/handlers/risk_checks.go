package handlers

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"rail/gen/db"
	"rail/server/program/risk"
	"rail/server/work"
)

// flag opens the flag of a finding, unless the same one is open (decisions, 148).
func flag(ctx context.Context, u *work.Unit, f risk.Finding) error {
	_, err := risk.Open(ctx, u, f)
	return err
}

// clickIDs are the parameters by which advertising networks mark paid clicks
// (decisions, 147).
var clickIDs = []string{"gclid", "fbclid", "msclkid", "ttclid", "twclid", "li_fat_id"}

// dismissedFor is for how many days no paid click opens a flag again that was
// dismissed: every one of them would.
const dismissedFor = 30

// checkClick looks for paid traffic.
func (s *Server) checkClick(ctx context.Context, u *work.Unit, v visit) error {
	name := paidBy(v)
	if name == "" || !u.Plan.FraudMonitoring {
		return nil
	}
	settled, err := queries.RiskDismissed(ctx, u.DB(), db.RiskDismissedParams{
		ProgramID: v.programID, OrgID: u.OrgID, PartnerID: &v.partnerID, Kind: "paid_traffic", Since: new(u.Now.Days(-dismissedFor)),
	})
	if err != nil || settled {
		return err
	}
	return flag(ctx, u, risk.Finding{
		ProgramID: v.programID, PartnerID: v.partnerID, Kind: "paid_traffic", Severity: "low",
		Summary: "A visitor came through a paid advertisement.", Signals: map[string]any{"parameter": name},
	})
}

// paidBy is the parameter by which a network marked the click; "" for none.
func paidBy(v visit) string {
	_, query, _ := strings.Cut(v.landingURL, "?")
	query, _, _ = strings.Cut(query, "#")
	if query += "&" + v.asked; !strings.Contains(query, "cl") && !strings.Contains(query, "li_fat_id") {
		return "" // most clicks, at the least cost
	}
	given, _ := url.ParseQuery(query) // what cannot be read marks nothing
	for _, name := range clickIDs {
		if given.Has(name) {
			return name
		}
	}
	return ""
}

// checkCustomer looks at the address of a customer that is new, or whose address
// or partner is.
func (s *Server) checkCustomer(ctx context.Context, u *work.Unit, p db.Partner, k db.Customer) error {
	if !u.Plan.FraudMonitoring || k.Email == nil {
		return nil
	}
	if isPartner(k.Email, p) {
		if err := flagSelfReferral(ctx, u, p, &k.ID); err != nil {
			return err
		}
	}
	domain, own := domainOf(*k.Email), domainOf(p.Email)
	if slices.Contains(disposable, domain) {
		f := risk.Finding{
			ProgramID: p.ProgramID, PartnerID: p.ID, CustomerID: &k.ID, Kind: "disposable_email", Severity: "medium",
			Summary: "The customer's e-mail address is of a provider of throw-away addresses.", Signals: map[string]any{"domain": domain},
		}
		if err := flag(ctx, u, f); err != nil {
			return err
		}
	}
	if domain == "" || domain != own || forAll(domain) || isPartner(k.Email, p) {
		return nil
	}
	return flag(ctx, u, risk.Finding{
		ProgramID: p.ProgramID, PartnerID: p.ID, CustomerID: &k.ID, Kind: "self_referral_domain", Severity: "medium",
		Summary: "The customer's e-mail address is of the partner's own domain.", Signals: map[string]any{"domain": domain},
	})
}

// forAll tells whether a domain has addresses for everybody, which tell nothing of
// who belongs together. Some providers have one domain a country.
func forAll(domain string) bool {
	provider, _, _ := strings.Cut(domain, ".")
	return slices.Contains(free, domain) || slices.Contains(families, provider) && strings.Count(domain, ".") <= 2
}

func domainOf(email string) string {
	return strings.ToLower(email[strings.LastIndexByte(email, '@')+1:])
}

// free are the larger providers of addresses for everybody, relays among them;
// families those of them whose domains begin alike; disposable those of addresses
// for minutes.
var (
	families = strings.Fields("gmail googlemail yahoo ymail rocketmail hotmail outlook live msn windowslive passport gmx aol yandex mail proton protonmail tutanota zoho")
	free     = strings.Fields(`gmail.com googlemail.com outlook.com hotmail.com live.com msn.com yahoo.com ymail.com rocketmail.com yahoo.co.uk yahoo.de
		yahoo.fr icloud.com me.com mac.com aol.com proton.me protonmail.com pm.me gmx.com gmx.de gmx.net gmx.at gmx.ch web.de t-online.de freenet.de mail.com
		zoho.com fastmail.com tutanota.com tuta.io hey.com hotmail.co.uk hotmail.fr hotmail.de live.co.uk orange.fr wanadoo.fr free.fr laposte.net sfr.fr
		libero.it virgilio.it tiscali.it alice.it mail.ru yandex.ru yandex.com bk.ru list.ru inbox.ru rambler.ru qq.com 163.com 126.com sina.com foxmail.com
		naver.com daum.net hanmail.net comcast.net verizon.net att.net sbcglobal.net bellsouth.net cox.net charter.net btinternet.com sky.com
		virginmedia.com bigpond.com bigpond.net.au optusnet.com.au uol.com.br bol.com.br terra.com.br privaterelay.appleid.com
		mozmail.com duck.com simplelogin.com aleeas.com anonaddy.com addy.io passmail.net pobox.com seznam.cz email.cz centrum.cz wp.pl o2.pl interia.pl onet.pl`)
	disposable = strings.Fields(`mailinator.com guerrillamail.com guerrillamail.net guerrillamail.org guerrillamailblock.com sharklasers.com grr.la spam4.me
		10minutemail.com 10minutemail.net 20minutemail.com tempmail.com temp-mail.org temp-mail.io tempmail.net tempmailo.com tempr.email tempinbox.com
		throwawaymail.com trashmail.com trashmail.de trashmail.net trash-mail.com yopmail.com yopmail.fr yopmail.net getnada.com nada.email maildrop.cc
		mailnesia.com mailcatch.com mintemail.com mohmal.com moakt.com dispostable.com discard.email discardmail.com fakeinbox.com fakemailgenerator.com
		emailondeck.com getairmail.com inboxkitten.com mailsac.com mytemp.email spamgourmet.com spambox.us tempail.com burnermail.io mail-temp.com
		emailfake.com 1secmail.com 1secmail.net 1secmail.org dropmail.me harakirimail.com incognitomail.org jetable.org linshiyouxiang.net minuteinbox.com
		einrot.com cuvox.de dayrep.com fleckens.hu gustr.com jourrapide.com rhyta.com superrito.com teleworm.us armyspy.com`)
)
