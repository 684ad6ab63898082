package console

import "net/http"

// A form ends in one of two ways: it is done, or its page is shown again.

// again shows the page of a refused form with the typed values and the fault. It returns errors that the person
// cannot fix.
func (v *visit) again(err error, show action) error {
	p, ok := refused(err)
	if !ok || p.Status() == http.StatusNotFound && p.Param == "" || p.Status() == http.StatusForbidden {
		return err
	}
	v.fault = p
	return show(v)
}

// done redirects after a change and shows notice on the next page.
func (v *visit) done(to, notice string) error {
	v.SetNotice(notice)
	return v.Redirect(http.StatusSeeOther, to)
}
