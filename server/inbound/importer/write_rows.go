package importer

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/importer/source"
	"rail/server/locale/plain"
	"rail/server/money/commission"
	"rail/server/money/report"
	"rail/server/money/rules"
	"rail/server/money/sale"
	"rail/server/money/tax"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/customer"
	"rail/server/program/partner"
	"rail/server/program/tracking"
)

// writer writes the rows of a batch.
type writer struct {
	*batch
	objects db.ImportObjectsPutParams
	paid    db.ImportObjectsPutParams // commissions that were written with their payouts
	pays    map[string][]*row         // commissions of the batch's payouts, by payout
	batches map[string]string         // payout batches of the import, by month
}

func newWriter(b *batch) *writer {
	objects := func(kind int) db.ImportObjectsPutParams {
		return db.ImportObjectsPutParams{
			ProgramID: b.m.ProgramID, Source: family(*b.m), Kind: smallint(objectKind(kind)), OrgID: b.m.OrgID,
			ImportID: b.m.ID,
		}
	}
	return &writer{batch: b, objects: objects(b.kind), paid: objects(commissions), batches: map[string]string{}}
}

// remember notes which object a row is, and when it was written.
func (w *writer) remember(objects *db.ImportObjectsPutParams, id string, r *row) {
	at := w.u.Now
	if r.edited && r.earlier != nil {
		at = r.earlier.WrittenAt
	}
	objects.WrittenAts = append(objects.WrittenAts, at)
	objects.SourceIds, objects.Targets = append(objects.SourceIds, id), append(objects.Targets, r.target)
	objects.Created = append(objects.Created, r.outcome == db.ImportRowOutcomeNew)
	objects.Data = append(objects.Data, string(r.Data))
}

// put stores the remembered objects.
func (w *writer) put(ctx context.Context, objects *db.ImportObjectsPutParams) error {
	err := queries.ImportObjectsPut(ctx, w.u.Tx, *objects)
	objects.SourceIds, objects.Targets, objects.Created = nil, nil, nil
	objects.Data, objects.WrittenAts = nil, nil
	return err
}

// row writes a row that is new or changed. A row of an object that Rail has is only remembered.
func (w *writer) row(ctx context.Context, r *row) error {
	if r.outcome == db.ImportRowOutcomeSame {
		return nil
	}
	isNew := r.outcome == db.ImportRowOutcomeNew
	switch w.kind {
	case partners:
		return w.partner(ctx, r, isNew)
	case links:
		return w.link(ctx, r, isNew)
	case coupons:
		return w.coupon(ctx, r, isNew)
	case customers:
		return w.customer(ctx, r, isNew)
	case sales:
		return w.sale(ctx, r, isNew)
	case payments:
		return w.writePayout(ctx, r)
	}
	return w.commission(ctx, r, isNew)
}

// nameOf returns a text as a name that can be stored, nil for an empty one.
func nameOf(text string) *string {
	cleaned := strings.TrimSpace(plain.Name(plain.Short(text, maxID)))
	return opt.OrNil(cleaned)
}

// country returns a country code, nil for anything else.
func country(code string) *string {
	code = strings.ToUpper(strings.TrimSpace(code))
	if len(code) != 2 || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return nil
	}
	return &code
}

// page returns an address of a page, or the fallback.
func page(address, fallback string) string {
	const most = 2048
	at, err := url.Parse(address)
	if err != nil || len(address) > most || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return fallback
	}
	return address
}

func (w *writer) partner(ctx context.Context, r *row, isNew bool) error {
	of, err := decode[source.Partner](r.Data)
	if err != nil {
		return err
	}
	p := db.Partner{
		ID: r.target, OrgID: w.m.OrgID, ProgramID: w.m.ProgramID, GroupID: opt.OrNil(r.refs.Group), Email: of.Email,
		FirstName: nameOf(of.FirstName), LastName: nameOf(of.LastName), CompanyName: nameOf(of.CompanyName),
		WebsiteURL: opt.OrNil(page(of.WebsiteURL, "")), CountryCode: country(of.CountryCode), Handle: r.refs.Handle,
		Status: db.PartnerStatus(of.Status), EmailFirstReferral: true, EmailNewReferral: true, EmailPayoutPaid: true,
		OnLeaderboard: true, Metadata: w.metadata(r, of.Metadata), CreatedAt: w.past(of.CreatedAt), UpdatedAt: w.u.Now,
	}
	if !isNew {
		return w.changePartner(ctx, r, of, p)
	}
	if p.ExternalID, err = w.freeExternalID(ctx, r, of.ExternalID); err != nil {
		return err
	}
	if err := partner.Import(ctx, w.u, p); err != nil || !w.program.RequireTaxForms {
		return err
	}
	return tax.RequireFor(ctx, w.u.Later(), p, w.u.Now)
}

// freeExternalID returns the merchant's own id of a new partner, nil without one. An id that another partner has is a
// problem.
func (w *writer) freeExternalID(ctx context.Context, r *row, id string) (*string, error) {
	if id = plain.Short(id, maxID); id == "" {
		return nil, nil
	}
	holder, err := queries.PartnerByExternalID(ctx, w.u.Tx, db.PartnerByExternalIDParams{
		ProgramID: w.m.ProgramID, OrgID: w.m.OrgID, ExternalID: id,
	})
	if isNoRows(err) {
		return &id, nil
	}
	if err == nil {
		w.note(r, "duplicate", fmt.Sprintf("The partner %s has the external id %q. This partner gets none.", holder.ID, id))
	}
	return nil, err
}

// changePartner writes the fields that changed at the source since the last import, and keeps all others.
func (w *writer) changePartner(ctx context.Context, r *row, to source.Partner, p db.Partner) error {
	if r.earlier == nil {
		return nil
	}
	was, err := decode[source.Partner](r.earlier.Data)
	if err != nil {
		return err
	}
	now, err := partner.Lock(ctx, w.u, r.target)
	if err != nil {
		return err
	}
	pick := func(old, changed string, have, next *string) *string {
		if old == changed {
			return have
		}
		return next
	}
	status := now.Status
	switch people := now.SuspensionReason != nil || !r.earlier.Created; {
	case was.Status == to.Status:
	case string(now.Status) == was.Status && !people:
		status = p.Status
	case now.Status != p.Status:
		w.note(r, "not_changed", fmt.Sprintf("The status changed to %s at the source. It is %s in Rail, and stays so.",
			to.Status, now.Status))
	}
	if err := w.decide(ctx, now, status); err != nil {
		return err
	}
	return queries.PartnerImportChange(ctx, w.u.Later(), db.PartnerImportChangeParams{
		FirstName:   pick(was.FirstName, to.FirstName, now.FirstName, p.FirstName),
		LastName:    pick(was.LastName, to.LastName, now.LastName, p.LastName),
		CompanyName: pick(was.CompanyName, to.CompanyName, now.CompanyName, p.CompanyName),
		WebsiteURL:  pick(was.WebsiteURL, to.WebsiteURL, now.WebsiteURL, p.WebsiteURL),
		CountryCode: pick(was.CountryCode, to.CountryCode, now.CountryCode, p.CountryCode),
		Status:      status, UpdatedAt: w.u.Now, ID: r.target, OrgID: w.m.OrgID,
	})
}

// decide closes the application of a partner when the source has decided, or opens one for a partner who is pending
// again.
func (w *writer) decide(ctx context.Context, p db.Partner, status db.PartnerStatus) error {
	switch {
	case p.Status == status:
		return nil
	case status == db.PartnerStatusPending:
		return partner.ImportApplication(ctx, w.u, p)
	case p.Status != db.PartnerStatusPending:
		return nil
	}
	return queries.ApplicationImportDecide(ctx, w.u.Later(), db.ApplicationImportDecideParams{
		Status: string(status), UpdatedAt: w.u.Now, ProgramID: w.m.ProgramID, PartnerID: &p.ID, OrgID: w.m.OrgID,
	})
}

// past returns a time of the source that is not in the future.
func (w *writer) past(at clock.Time) clock.Time {
	if at.IsZero() || at.After(w.u.Now.Time) {
		return w.u.Now
	}
	return at
}

func (w *writer) link(ctx context.Context, r *row, isNew bool) error {
	of, err := decode[source.Link](r.Data)
	if err != nil {
		return err
	}
	to := page(of.URL, w.program.WebsiteURL)
	if !isNew {
		_, err := tracking.UpdateLink(ctx, w.u, r.target, tracking.LinkChanges{DestinationURL: &to})
		return err
	}
	param := of.Param
	if !isParam(param) {
		param = tracking.Param(w.program)
	}
	err = tracking.ImportLink(ctx, w.u, db.Link{
		ID: r.target, OrgID: w.m.OrgID, ProgramID: w.m.ProgramID, PartnerID: r.refs.Partner, Param: param,
		Value: of.Value, DestinationURL: to, CreatedAt: w.past(of.CreatedAt), UpdatedAt: w.u.Now,
	}, r.refs.Exact)
	if errors.Is(err, tracking.ErrTaken) {
		return conflictf("value_taken", "Another partner of Rail has got the value %q since the comparison.", of.Value)
	}
	return err
}

func (w *writer) coupon(ctx context.Context, r *row, isNew bool) error {
	of, err := decode[source.Coupon](r.Data)
	if err != nil {
		return err
	}
	if !isNew {
		return queries.CouponImportChange(ctx, w.u.Later(), db.CouponImportChangeParams{
			Active: of.Active, UpdatedAt: w.u.Now, ID: r.target, OrgID: w.m.OrgID,
		})
	}
	err = tracking.ImportCoupon(ctx, w.u, db.Coupon{
		ID: r.target, OrgID: w.m.OrgID, ProgramID: w.m.ProgramID, PartnerID: &r.refs.Partner, Code: of.Code,
		ExternalID: opt.OrNil(plain.Short(of.ExternalID, maxID)), Active: of.Active, CreatedAt: w.past(of.CreatedAt),
		UpdatedAt: w.u.Now,
	})
	if errors.Is(err, tracking.ErrTaken) {
		return conflictf("code_taken", "Rail has got a coupon with the code %q since the comparison.", of.Code)
	}
	return err
}

func (w *writer) customer(ctx context.Context, r *row, isNew bool) error {
	of, err := decode[source.Customer](r.Data)
	if err != nil {
		return err
	}
	processor := processorOf(of.Processor)
	if !isNew {
		return w.changeCustomer(ctx, r, of, processor)
	}
	k := db.Customer{
		ID:                     r.target,
		OrgID:                  w.m.OrgID,
		ProgramID:              w.m.ProgramID,
		PartnerID:              opt.OrNil(r.refs.Partner),
		LinkID:                 opt.OrNil(r.refs.Link),
		CouponID:               opt.OrNil(r.refs.Coupon),
		Processor:              &processor,
		Email:                  opt.OrNil(plain.Short(of.Email, maxID)),
		Name:                   nameOf(of.Name),
		Identifier:             opt.OrNil(plain.Short(of.Identifier, maxID)),
		ExternalSubscriptionID: opt.OrNil(plain.Short(of.SubscriptionID, maxID)),
		Status:                 db.CustomerStatus(of.Status),
		TrackedBy:              trackedBy(r.refs),
		LeadAt:                 w.past(of.LeadAt),
		ConvertedAt:            of.ConvertedAt,
		Metadata:               w.metadata(r, nil),
		CreatedAt:              w.past(of.CreatedAt),
		UpdatedAt:              w.u.Now,
	}
	return customer.Import(ctx, w.u, k, r.refs.IDs)
}

// changeCustomer adds external ids and writes the status of a customer that Rail has. A customer without a partner
// gets that of the source.
func (w *writer) changeCustomer(ctx context.Context, r *row, of source.Customer, processor string) error {
	existing := db.Customer{ID: r.target, OrgID: w.m.OrgID, ProgramID: w.m.ProgramID, Processor: &processor}
	if err := customer.ImportIDs(ctx, w.u, existing, w.u.Now, r.refs.IDs); err != nil {
		return err
	}
	if err := report.TouchCustomer(ctx, w.u, existing); err != nil {
		return err
	}
	if of.ConvertedAt != nil {
		if err := report.Touch(ctx, w.u, w.m.ProgramID, *of.ConvertedAt); err != nil {
			return err
		}
	}
	if r.refs.Bound {
		return queries.CustomerSetImportPartner(ctx, w.u.Later(), db.CustomerSetImportPartnerParams{
			PartnerID: opt.OrNil(r.refs.Partner), UpdatedAt: w.u.Now, ID: r.target, OrgID: w.m.OrgID,
		})
	}
	return queries.CustomerImportChange(ctx, w.u.Later(), db.CustomerImportChangeParams{
		Email: opt.OrNil(plain.Short(of.Email, maxID)), Name: nameOf(of.Name), Status: db.CustomerStatus(of.Status),
		ConvertedAt: of.ConvertedAt, UpdatedAt: w.u.Now, ID: r.target, OrgID: w.m.OrgID,
	})
}

// processorOf returns the processor of a customer.
func processorOf(name string) string {
	switch name {
	case "stripe", "paddle", "chargebee", "lemon_squeezy", "polar", "generic":
		return name
	}
	return "api"
}

// trackedBy returns how a customer was attributed.
func trackedBy(r refs) db.TrackedBy {
	switch {
	case r.Coupon != "":
		return db.TrackedByCoupon
	case r.Link != "":
		return db.TrackedByLink
	}
	return db.TrackedByManual
}

func (w *writer) sale(ctx context.Context, r *row, isNew bool) error {
	of, err := decode[source.Sale](r.Data)
	if err != nil {
		return err
	}
	if !isNew {
		return w.refund(ctx, r, of)
	}
	billing := "one_time"
	if of.Recurring {
		billing = "subscription"
	}
	k := db.Sale{
		ID: r.target, OrgID: w.m.OrgID, ProgramID: w.m.ProgramID, CustomerID: r.refs.Customer,
		PartnerID: opt.OrNil(r.refs.Partner), ExternalChargeID: w.chargeID(r, of), Processor: "api",
		AmountMinor: of.AmountMinor, TaxMinor: of.TaxMinor, Currency: of.Currency, BillingType: billing,
		ProductName: nameOf(of.ProductName), IsFirstSale: r.refs.First, ActivityOutcome: "sale_recorded",
		Warnings: []byte("[]"), OccurredAt: w.past(of.OccurredAt), Metadata: w.metadata(r, nil),
		CreatedAt: w.past(of.OccurredAt), UpdatedAt: w.u.Now,
	}
	return sale.Import(ctx, w.u, k, of.RefundedMinor, of.RefundedAt)
}

// refund writes that the source has refunded more of a sale. The refund of a sale that Rail recorded itself comes from
// the processor, and changes the commissions.
func (w *writer) refund(ctx context.Context, r *row, of source.Sale) error {
	k, err := queries.SaleLock(ctx, w.u.Tx, db.SaleLockParams{ID: r.target, OrgID: w.m.OrgID})
	if err != nil {
		return err
	}
	if r.earlier != nil && !r.earlier.Created {
		if of.RefundedMinor > k.RefundedMinor && k.RefundedAt == nil {
			w.note(r, "not_changed", fmt.Sprintf("Rail has recorded the sale %s itself. Its refund comes from the processor.", k.ID))
		}
		return nil
	}
	return sale.ImportRefund(ctx, w.u, k, of.RefundedMinor, of.RefundedAt)
}

func (w *writer) commission(ctx context.Context, r *row, isNew bool) error {
	of, err := decode[source.Commission](r.Data)
	if err != nil {
		return err
	}
	if !isNew {
		return w.changeCommission(ctx, r, of)
	}
	return commission.Import(ctx, w.u, w.newCommission(r, of))
}

// newCommission returns the row of a commission. A pending one keeps the time of its maturity; without one, a person
// approves it.
func (w *writer) newCommission(r *row, of source.Commission) db.Commission {
	at := w.past(of.CreatedAt)
	k := db.Commission{
		ID: r.target, OrgID: w.m.OrgID, ProgramID: w.m.ProgramID, PartnerID: r.refs.Partner,
		SaleID: opt.OrNil(r.refs.Sale), CustomerID: opt.OrNil(r.refs.Customer), Kind: db.CommissionKindReward,
		AmountMinor: of.AmountMinor, Currency: of.Currency, Metadata: w.metadata(r, nil), CreatedAt: at,
		UpdatedAt: w.u.Now, RefundedBeforeMinor: r.refs.Refunded,
	}
	switch {
	case of.AmountMinor < 0:
		k.Kind = db.CommissionKindClawback
	case r.refs.ByRule:
		k.Kind = db.CommissionKindReferral
	}
	mature := rules.MatureAt(at, w.program.HoldingPeriodDays)
	if of.MatureAt != nil {
		mature = *of.MatureAt
	}
	k.MatureAt = &mature
	switch of.Status {
	case source.Open:
		k.Status = db.CommissionStatusPending
		if of.MatureAt != nil {
			k.ApproveAt = &mature
		}
		if k.Kind == db.CommissionKindClawback { // deducted from the next payout
			k.Status, k.ApproveAt, k.ApprovedAt, k.MatureAt = db.CommissionStatusDue, nil, &at, &at
		}
		return k
	case source.Voided, source.Rejected:
		k.Status = db.CommissionStatusVoided
		if of.Status == source.Rejected {
			k.Status = db.CommissionStatusRejected
		}
		k.VoidedAt, k.VoidReason = &w.u.Now, new(plain.Short(of.Reason, maxID))
		if of.VoidedAt != nil {
			k.VoidedAt = new(w.past(*of.VoidedAt))
		}
		if of.Reason == "" {
			k.VoidReason = new("Voided before the import.")
		}
		return k
	case source.Paid:
		k.Status, k.PayoutID = db.CommissionStatusPaid, &r.refs.Payout
	default:
		k.Status = db.CommissionStatusDue
	}
	if r.refs.Settled {
		k.Status, k.PayoutID, k.VoidedAt, k.VoidReason = db.CommissionStatusVoided, nil, &w.u.Now, new(settledReason)
		return k
	}
	if mature.After(w.u.Now.Time) {
		k.MatureAt = &at
	}
	k.ApprovedAt = &at
	return k
}

// settledReason is the reason of a void commission that was paid together with deductions of at least its payout's sum.
const settledReason = "Settled with deductions before the import."

// changeCommission follows a change at the source. Money that Rail has paid, or is paying, stays as it is.
func (w *writer) changeCommission(ctx context.Context, r *row, to source.Commission) error {
	k, err := w.changeable(ctx, r, to)
	if err != nil || !isOpen(k) {
		return err
	}
	if to.AmountMinor != k.AmountMinor && to.Status != source.Voided && to.Status != source.Rejected {
		if k, err = w.changeAmount(ctx, r, k, to); err != nil {
			return err
		}
	}
	return w.changeStatus(ctx, r, k, to)
}

// changeAmount sets an amount that has changed at the source. A person's correction in Rail, and the amount of a
// commission that Rail made itself, stay.
func (w *writer) changeAmount(ctx context.Context, r *row, k db.Commission,
	to source.Commission) (db.Commission, error) {
	if r.earlier == nil {
		return k, nil
	}
	was, err := decode[source.Commission](r.earlier.Data)
	if err != nil || was.AmountMinor == to.AmountMinor {
		return k, err
	}
	if r.earlier.Created {
		return w.correct(ctx, k, to)
	}
	w.note(r, "not_changed", fmt.Sprintf("Rail has made the commission %s itself, so its amount stays. It is %s at the source.",
		k.ID, commission.Money(to.AmountMinor, to.Currency)))
	return k, nil
}

// isOpen reports whether a commission is unpaid and not void.
func isOpen(k db.Commission) bool {
	return k.Status == db.CommissionStatusPending || k.Status == db.CommissionStatusApproved ||
		k.Status == db.CommissionStatusDue
}

// changeable locks the commission of a row, and refuses a change that comes too late.
func (w *writer) changeable(ctx context.Context, r *row, to source.Commission) (db.Commission, error) {
	k, err := queries.CommissionLock(ctx, w.u.Tx, db.CommissionLockParams{ID: r.target, OrgID: w.m.OrgID})
	if err != nil {
		return k, err
	}
	switch {
	case k.PartnerID != r.refs.Partner:
		return k, conflictf("not_changed", "The commission %s belongs to another partner in Rail.", k.ID)
	case k.Status == db.CommissionStatusPaid && (to.Status != source.Paid || to.AmountMinor != k.AmountMinor):
		return k, conflictf("paid_already", "The commission %s is paid, so the change to %s of %s is not made.", k.ID, to.Status,
			commission.Money(to.AmountMinor, to.Currency))
	case k.Status == db.CommissionStatusPaid && r.refs.Payout != "":
		return k, conflictf("paid_already", "Rail has paid the commission %s as well.", k.ID)
	case !isOpen(k) && (k.Status == db.CommissionStatusPaid || to.Status == source.Voided || to.Status == source.Rejected):
		return k, nil // as at the source
	case !isOpen(k):
		return k, conflictf("not_changed", "The commission %s is %s in Rail, so the change to %s is not made.", k.ID, k.Status,
			to.Status)
	case k.PayoutID != nil:
		return k, conflictf("in_payout", "The commission %s is in the payout %s, so the change to %s is not made.", k.ID,
			*k.PayoutID, to.Status)
	case to.Currency != k.Currency || to.AmountMinor < 0 != (k.AmountMinor < 0):
		return k, conflictf("not_changed", "The currency or the sign of the commission %s changed.", k.ID)
	}
	return k, nil
}

// correct sets the amount of an open commission.
func (w *writer) correct(ctx context.Context, k db.Commission, to source.Commission) (db.Commission, error) {
	now, err := commission.Correct(ctx, w.u, k.ID, to.AmountMinor, "The amount changed at "+w.m.Source+".")
	if refused, is := errors.AsType[*problem.Error](err); is {
		return k, conflictf("not_changed", "%s", refused.Message)
	}
	return now, err
}

// void voids an open commission. It refuses if another commission has taken part of its amount back, or returned it.
func (w *writer) void(ctx context.Context, k db.Commission, reason string) error {
	if commission.Settled(k) {
		return conflictf("not_changed", "Refunds in Rail have changed what the commission %s is worth, so it is not voided.",
			k.ID)
	}
	return commission.Void(ctx, w.u, k, reason)
}

// changeStatus moves an open commission to the status at the source.
func (w *writer) changeStatus(ctx context.Context, r *row, k db.Commission, to source.Commission) error {
	if r.refs.Settled {
		return w.void(ctx, k, settledReason)
	}
	switch to.Status {
	case source.Voided:
		return w.void(ctx, k, opt.Value(opt.Or(opt.OrNil(to.Reason), new(commission.SaleRefunded))))
	case source.Rejected:
		reason := to.Reason
		if reason == "" {
			reason = "Rejected at " + w.m.Source + "."
		}
		_, err := commission.Reject(ctx, w.u, k.ID, reason)
		return err
	case source.Paid:
		if r.refs.Payout != "" { // else it was paid before
			return commission.ImportPaid(ctx, w.u, k, r.refs.Payout)
		}
	case source.Due:
		if k.Status != db.CommissionStatusDue {
			return commission.ImportDue(ctx, w.u, k)
		}
	}
	return nil
}
