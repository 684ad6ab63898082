package console

import (
	"rail/gen/api"
)

var groupRoutes = map[string]route{
	"GET /console/p/{program}/groups":              {Do: groups},
	"POST /console/p/{program}/groups":             {Do: createGroup},
	"POST /console/p/{program}/groups/{id}":        {Do: saveGroup},
	"POST /console/p/{program}/groups/{id}/delete": {Do: deleteGroup},
	"POST /console/p/{program}/tags":               {Do: createTag},
	"POST /console/p/{program}/tags/{id}":          {Do: saveTag},
	"POST /console/p/{program}/tags/{id}/delete":   {Do: deleteTag},
}

// groups shows the groups and the tags of a program.
func groups(v *visit) error {
	groups, err := v.groups()
	if err != nil {
		return err
	}
	tags, err := v.tags()
	if err != nil {
		return err
	}
	return v.show(sheet{"groups", "/groups", "Groups and tags", struct {
		Groups []api.Group
		Tags   []api.Tag
	}{groups, tags}})
}

func createGroup(v *visit) error { return v.groupForm("createGroup", "The group is created.") }

func saveGroup(v *visit) error {
	return v.groupForm("updateGroup", "The group is saved.", v.PathValue("id"))
}

func deleteGroup(v *visit) error {
	return v.groupForm("deleteGroup", "The group is deleted.", v.PathValue("id"))
}

func createTag(v *visit) error { return v.groupForm("createTag", "The tag is created.") }

func saveTag(v *visit) error { return v.groupForm("updateTag", "The tag is saved.", v.PathValue("id")) }

func deleteTag(v *visit) error {
	return v.groupForm("deleteTag", "The tag is deleted.", v.PathValue("id"))
}

// groupForm sends a form of the page and shows the page again.
func (v *visit) groupForm(operation, notice string, ids ...string) error {
	if err := v.send(operation, v.body(operation), nil, ids...); err != nil {
		return v.again(err, groups)
	}
	return v.done(v.at("/groups"), notice)
}
