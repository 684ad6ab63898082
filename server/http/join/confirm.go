package join

import (
	"net/http"

	"rail/gen/db"
	"rail/server/locale"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/joining"
	"rail/server/program/partner"
	"rail/server/work"
)

// opened returns the request of the visit's link, and switches to its language unless the visitor chose one.
func (v *visit) opened() (joining.Request, error) {
	token := v.PathValue("token")
	if !tokenForm.MatchString(token) {
		return joining.Request{}, joining.ErrLink
	}
	r, err := v.pages.Joining.Find(v.Ctx(), token, v.Now)
	if err != nil {
		return r, err
	}
	if !v.chosen {
		v.Locale = locale.Of("", r.Language)
	}
	return r, v.setProgram(r.Program)
}

// confirmData holds the data of the confirmation page.
type confirmData struct{ Path, Email string }

// ask shows a button and confirms nothing: mail scanners open every link.
func ask(v *visit) error {
	r, err := v.opened()
	if err != nil {
		return err
	}
	if r.ApplicationID != nil {
		return v.toStatus()
	}
	return v.write(http.StatusOK, "confirm", v.Locale.T("Confirm your application"),
		confirmData{v.Request().URL.Path, r.Email})
}

// toStatus redirects to the status of the application.
func (v *visit) toStatus() error {
	return v.Redirect(http.StatusSeeOther, folder+"status/"+v.PathValue("token"))
}

// confirm makes the application.
func confirm(v *visit) error {
	r, err := v.opened()
	if err != nil {
		return err
	}
	err = v.unit(r.Plan).Within(v.Ctx(), func(u *work.Unit) error { return v.pages.Joining.Confirm(v.Ctx(), u, r) })
	if problem.Is(err, problem.PartnerEmailTaken) {
		return errTaken
	}
	if err != nil {
		return err
	}
	return v.toStatus()
}

// statusData holds the data of the status page.
type statusData struct {
	Status           db.ApplicationStatus
	Reason, Withdraw string
	FormToken        string
}

// status shows the status of the application.
func status(v *visit) error {
	r, err := v.opened()
	if err != nil {
		return err
	}
	if r.ApplicationID == nil {
		return v.Redirect(http.StatusSeeOther, folder+"confirm/"+v.PathValue("token"))
	}
	a, err := v.pages.Joining.Status(v.Ctx(), r)
	if err != nil {
		return err
	}
	at := folder + "withdraw/" + v.PathValue("token")
	return v.write(http.StatusOK, "status", v.Locale.T("Your application to %s", v.program.Name), statusData{
		Status: a.Status, Reason: opt.Value(a.RejectionReason), Withdraw: at, FormToken: guard.Token(at),
	})
}

// withdraw withdraws the application unless it is decided.
func withdraw(v *visit) error {
	r, err := v.opened()
	if err != nil {
		return err
	}
	if r.ApplicationID == nil {
		return joining.ErrLink
	}
	err = v.unit(r.Plan).Within(v.Ctx(), func(u *work.Unit) error {
		_, err := partner.Withdraw(v.Ctx(), u, *r.ApplicationID)
		return err
	})
	if problem.Is(err, problem.ApplicationAlreadyDecided) {
		err = nil
	}
	if err != nil {
		return err
	}
	return v.toStatus()
}
