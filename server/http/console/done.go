package console

import (
	"net/http"
	"net/url"

	"rail/server/http/site"
	"rail/server/problem"
)

// A form ends in one of two ways: it is done, or its page is shown again.

// again shows the page of a refused form with the typed values and the fault. It returns errors that the person
// cannot fix.
func (v *visit) again(err error, show action) error {
	p, ok := formRefusal(err)
	if !ok {
		return err
	}
	v.fault = p
	return show(v)
}

// againAt shows a list after a refused form. The links of the list lead to its path, not to the form's.
func (v *visit) againAt(path string, err error, show action) error {
	if _, ok := formRefusal(err); ok {
		v.Request().URL = &url.URL{Path: path}
	}
	return v.again(err, show)
}

// formRefusal reports whether an error is a refusal that a form can show.
func formRefusal(err error) (*problem.Error, bool) {
	p, ok := refused(err)
	if !ok || p.Status() == http.StatusNotFound && p.Param == "" || p.Status() == http.StatusForbidden {
		return nil, false
	}
	return p, true
}

// done redirects after a change and shows notice on the next page.
func (v *visit) done(to, notice string) error {
	v.SetNotice(notice)
	return v.Redirect(http.StatusSeeOther, to)
}

// emailsWait returns the sentence of a notice about n emails that are held; "" if the server sends no email.
func (v *visit) emailsWait(n int) string {
	if !v.console.People.Mail.Ready() {
		return ""
	}
	return oneOrMany(n, " The email waits for 10 minutes.", " The emails wait for 10 minutes.")
}

// undoable redirects after a change and shows notice on the next page, with a form that undoes the change.
func (v *visit) undoable(to, notice string, undo site.Undo) error {
	v.SetUndo(notice, undo)
	return v.Redirect(http.StatusSeeOther, to)
}
