package team

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"rail/gen/db"
	"rail/server/problem"
	"rail/server/work"
)

const (
	// maxViews is the number of saved filters of a user, in all programs.
	maxViews = 50
	// maxViewName and maxViewQuery are lengths in characters and bytes.
	maxViewName  = 60
	maxViewQuery = 1000
)

// View is the filters of a list that a user saved.
type View struct {
	Program string `json:"program"`
	Page    string `json:"page"` // of the console, below the program's
	Name    string `json:"name"`
	Query   string `json:"query"` // of the page's address
}

// same returns the part of a view that identifies it.
func (v View) same() (json.RawMessage, error) {
	return json.Marshal(map[string]string{"program": v.Program, "page": v.Page, "name": v.Name})
}

// viewsOf reads the saved filters of a user's row.
func viewsOf(stored json.RawMessage) (out []View) {
	if json.Unmarshal(stored, &out) != nil {
		return nil
	}
	return out
}

// SaveView saves filters of the user, in place of those of the same list and name.
func (s *Service) SaveView(ctx context.Context, u *work.Unit, v View) error {
	switch {
	case v.Name == "":
		return problem.Missing("name")
	case utf8.RuneCountInString(v.Name) > maxViewName:
		return problem.Invalid("name", "A name has at most %d characters.", maxViewName)
	case len(v.Query) > maxViewQuery:
		return problem.Invalid("name", "These filters are too long to be saved.")
	}
	view, err := json.Marshal([]View{v})
	if err != nil {
		return err
	}
	same, err := v.same()
	if err != nil {
		return err
	}
	n, err := queries.UserSaveView(ctx, u.DB(), db.UserSaveViewParams{
		OrgID: u.OrgID, ID: u.Actor.ID, View: view, Same: same, Most: maxViews,
	})
	if err == nil && n == 0 {
		return problem.Invalid("name", "You can save at most %d filters. Delete one first.", maxViews)
	}
	return err
}

// DropView deletes saved filters of the user.
func (s *Service) DropView(ctx context.Context, u *work.Unit, v View) error {
	same, err := v.same()
	if err != nil {
		return err
	}
	return queries.UserDropView(ctx, u.DB(), db.UserDropViewParams{OrgID: u.OrgID, ID: u.Actor.ID, Same: same})
}
