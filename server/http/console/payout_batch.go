package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"rail/gen/api"
	"rail/server/http/site"
	domain "rail/server/money/payout"
	"rail/server/problem"
)

// batchOf reads the run of the page's address.
func (v *visit) batchOf() (*api.PayoutBatch, error) {
	reply, err := v.console.api.RetrievePayoutBatchWithResponse(v.Ctx(), v.PathValue("id"),
		&api.RetrievePayoutBatchParams{
			ProgramID: &v.program.ID, Include: []api.PayoutBatchInclude{api.PayoutBatchIncludeBreakdown},
		})
	if err != nil {
		return nil, err
	}
	return reply.JSON200, nil
}

// batch shows a run: how its payouts are paid, by method and currency, and its payouts by what became of them.
func batch(v *visit) error {
	b, err := v.batchOf()
	if err != nil {
		return err
	}
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	page := v.cockpit(*b)
	page.show(v, api.PayoutStatus(cleaned(v.QueryParam("status"))))
	page.List, err = v.payoutsOf(api.ListPayoutsParams{
		BatchID: &b.ID, StartingAfter: turn.After, EndingBefore: turn.Before, Status: []api.PayoutStatus{page.Status},
	}, turn)
	if err != nil {
		return err
	}
	if err := v.addProgress(&page); err != nil {
		return err
	}
	rails, err := v.rails()
	if err != nil {
		return err
	}
	page.addRails(rails)
	if page.Live() {
		v.refresh = int(runRefresh.Seconds())
	}
	return v.show(sheet{"payout-batch", "/payouts", "Payouts of " + page.Month, page})
}

// runRefresh is how often a browser without scripts loads the page of a run again while a rail sends its payouts.
const runRefresh = 15 * time.Second

// addProgress adds what rails have of a run, and the stages of its life.
func (v *visit) addProgress(page *cockpit) error {
	railed, err := domain.CountByRail(v.Ctx(), v.unit(), page.ID)
	if err != nil {
		return err
	}
	page.addRailed(railed)
	page.Stages, err = v.stages(*page)
	return err
}

// batchProgress answers the progress of a run alone, for the script that shows it.
func batchProgress(v *visit) error {
	b, err := v.batchOf()
	if err != nil {
		return err
	}
	page := v.cockpit(*b)
	if err := v.addProgress(&page); err != nil {
		return err
	}
	return v.part("batch-progress", page)
}

// exported asks the API for the file that the form describes. The same form is the same file.
func (v *visit) exported() (*api.PayoutFile, error) {
	var file api.PayoutFile
	body := v.body("exportPayoutBatch")
	return &file, v.send("exportPayoutBatch", body, &file, v.PathValue("id"))
}

// exportBatch writes a file and sends it. If payouts were left out or were in an earlier file, it shows them before
// the download.
func exportBatch(v *visit) error {
	file, err := v.exported()
	if err != nil {
		return v.again(err, batch)
	}
	if file.PayoutCount > 0 && file.LeftCount == 0 && file.AgainCount == 0 && !file.HasMore {
		return v.attach(file)
	}
	var partners []string
	for _, l := range file.Left {
		partners = append(partners, l.PartnerID)
	}
	names, err := v.namesOf(partners)
	if err != nil {
		return err
	}
	return v.show(sheet{"payout-file", "/payouts", "Payout file", struct {
		*api.PayoutFile
		Names map[string]string
		Form  site.Posted
		Once  string
	}{file, names, v.Form, v.value("once")}})
}

// namesOf are the names of partners, of the first twenty.
func (v *visit) namesOf(partners []string) (map[string]string, error) {
	names := map[string]string{}
	for _, id := range partners[:min(len(partners), 20)] {
		reply, err := v.console.api.RetrievePartnerWithResponse(v.Ctx(), id, nil)
		if err != nil {
			return nil, err
		}
		names[id] = nameOf(*reply.JSON200)
	}
	return names, nil
}

// payoutFile sends the file that the page before has described: the same form, with the same key.
func payoutFile(v *visit) error {
	file, err := v.exported()
	if err != nil {
		return v.again(err, batch)
	}
	return v.attach(file)
}

// attach sends a file of payouts.
func (v *visit) attach(file *api.PayoutFile) error {
	v.Response().Header().Set("Content-Disposition", `attachment; filename="`+file.FileName+`"`)
	return v.Stream(http.StatusOK, file.ContentType, strings.NewReader(file.Content))
}

// maxReports is how often one upload asks the API, which ends so many payouts at a time.
const maxReports = 10

// reportResults applies the uploaded result file of a provider and shows the result of each row.
func reportResults(v *visit) error {
	if len(v.Upload.Body) == 0 {
		return v.again(problem.On("results", problem.ParameterMissing, "Choose a file first."), batch)
	}
	text := strings.ToValidUTF8(string(v.Upload.Body), "")
	all := api.PayoutResultReport{}
	for range maxReports {
		var report api.PayoutResultReport
		delete(v.Form, "once") // each asks for more, and the API does nothing twice
		err := v.send("reportPayoutResults", map[string]any{"content": text, "program_id": v.program.ID}, &report,
			v.PathValue("id"))
		if err != nil {
			return v.again(err, batch)
		}
		report.PaidCount += all.PaidCount
		report.FailedCount += all.FailedCount
		report.Data = slices.Concat(all.Data, report.Data)
		all = report
		if report.RemainingCount == 0 {
			break
		}
	}
	var worth []api.PayoutResult
	for _, r := range all.Data {
		if r.Outcome != api.PayoutResultOutcomePaid {
			worth = append(worth, r)
		}
	}
	all.Data = worth[:min(len(worth), 100)]
	all.Missing = all.Missing[:min(len(all.Missing), 100)]
	var partners []string
	for _, m := range all.Missing {
		partners = append(partners, m.PartnerID)
	}
	names, err := v.namesOf(partners)
	if err != nil {
		return err
	}
	return v.show(sheet{"payout-results", "/payouts", "Results of the file", struct {
		api.PayoutResultReport
		Names map[string]string
		More  int64 // missing payouts that are not listed
		File  string
	}{all, names, all.MissingCount - int64(len(all.Missing)), v.Upload.Name}})
}

// cancelPage shows the effects of canceling a run before it happens.
func cancelPage(v *visit) error {
	b, err := v.batchOf()
	if err != nil {
		return err
	}
	page := v.cockpit(*b)
	return v.show(sheet{"payout-cancel", "/payouts", "Cancel the run of " + page.Month, page})
}

// cancelBatch undoes what can still be undone of a run.
func cancelBatch(v *visit) error {
	body := v.body("cancelPayoutBatch")
	var done api.PayoutBatchCancelled
	if err := v.send("cancelPayoutBatch", body, &done, v.PathValue("id")); err != nil {
		return v.again(err, cancelPage)
	}
	notice := fmt.Sprintf("%s %s deleted; the commissions are due again.", v.Locale.Count(done.PayoutCount),
		oneOrMany(done.PayoutCount, "payout is", "payouts are"))
	if done.KeptCount > 0 {
		notice += fmt.Sprintf(" %s %s: paid, with a payment rail, or in a file.", v.Locale.Count(done.KeptCount),
			oneOrMany(done.KeptCount, "stays", "stay"))
	}
	if done.HasMore {
		notice += " There are more: undo again."
	}
	return v.done(v.at("/payouts/batches/"+v.PathValue("id")), notice)
}
