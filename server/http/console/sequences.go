package console

import (
	"fmt"
	"strconv"

	"rail/gen/api"
	"rail/server/http/site"
)

var sequenceRoutes = map[string]route{
	"GET /console/p/{program}/mails/sequences/new":          {Do: newSequence},
	"POST /console/p/{program}/mails/sequences":             {Do: createSequence},
	"POST /console/p/{program}/mails/sequences/{id}/pause":  {Do: pauseSequence},
	"POST /console/p/{program}/mails/sequences/{id}/resume": {Do: resumeSequence},
	"POST /console/p/{program}/mails/sequences/{id}/delete": {Do: deleteSequence},
}

// maxSteps is how many mails the form of a sequence has; the API takes more.
const maxSteps = 3

// sequences are the program's latest sequences.
func (v *visit) sequences() ([]api.Sequence, error) {
	reply, err := v.console.api.ListSequencesWithResponse(v.Ctx(),
		&api.ListSequencesParams{ProgramID: v.program.ID, Limit: new(int64(maxChoices))})
	if err != nil {
		return nil, err
	}
	return reply.JSON200.Data, nil
}

func newSequence(v *visit) error {
	return v.show(sheet{"sequence-new", mailsPath, "New sequence", nil})
}

// createSequence starts a sequence of the mails that were written.
func createSequence(v *visit) error {
	body := v.body("createSequence")
	body["steps"] = v.steps()
	if err := v.send("createSequence", body, nil); err != nil {
		return v.again(err, newSequence)
	}
	return v.done(v.at(mailsPath), "The sequence is active.")
}

// steps are the mails of the form; one with neither subject nor text is none.
func (v *visit) steps() []any {
	steps := []any{}
	for i := range maxSteps {
		s := stepOf(i)
		subject, text := v.value(s.Subject), v.value(s.Body)
		if subject == "" && text == "" {
			continue
		}
		var delay any = v.value(s.Delay)
		if days, err := strconv.ParseInt(v.value(s.Delay), 10, 32); err == nil {
			delay = days
		}
		steps = append(steps, map[string]any{"delay_days": delay, "subject": subject, "body": text})
	}
	return steps
}

// step names the fields of one mail of a sequence, as a refusal of the API names them.
type step struct {
	Number               int
	Delay, Subject, Body string
}

func stepOf(i int) step {
	at := fmt.Sprintf("steps[%d].", i)
	return step{i + 1, at + "delay_days", at + "subject", at + "body"}
}

// Steps are the mails that the form of a sequence has room for.
func (f frame) Steps() (out []step) {
	for i := range maxSteps {
		out = append(out, stepOf(i))
	}
	return out
}

// StepFault is the refusal of the sequence, if no field of the form has it.
func (f frame) StepFault() string {
	fields := []string{"name", "trigger", "trigger_days"}
	for _, s := range f.Steps() {
		fields = append(fields, s.Delay, s.Subject, s.Body)
	}
	return f.Fault(fields...)
}

// Triggers is a line with what begins a sequence.
func (f frame) Triggers() site.Input {
	return f.Line("select", "trigger", "It begins when a partner", string(api.SequenceTriggerApproved)).Of([]site.Option{
		{Value: string(api.SequenceTriggerApproved), Label: "is approved"},
		{Value: string(api.SequenceTriggerFirstCommission), Label: "earns the first commission"},
		{Value: string(api.SequenceTriggerIdle), Label: "is idle for some days"},
	})
}

func pauseSequence(v *visit) error {
	return v.sequenceForm("pauseSequence", v.body("pauseSequence"), "The sequence is paused. Partners keep their step.")
}

func resumeSequence(v *visit) error {
	return v.sequenceForm("resumeSequence", v.body("resumeSequence"), "The sequence is resumed.")
}

func deleteSequence(v *visit) error {
	return v.sequenceForm("deleteSequence", nil, "The sequence is deleted. Its partners get no further emails.")
}

// sequenceForm sends a form of the page of mails and shows that again.
func (v *visit) sequenceForm(operation string, body map[string]any, notice string) error {
	var sent any
	if body != nil {
		sent = body
	}
	if err := v.send(operation, sent, nil, v.PathValue("id")); err != nil {
		return v.again(err, mails)
	}
	return v.done(v.at(mailsPath), notice)
}
