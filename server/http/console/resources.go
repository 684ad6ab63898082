package console

import (
	"rail/gen/api"
	"rail/server/http/site"
)

var resourceRoutes = map[string]route{
	"GET /console/p/{program}/resources":              {Do: resources},
	"GET /console/p/{program}/resources.csv":          {Do: resourceTable},
	"POST /console/p/{program}/resources":             {Do: createResource},
	"GET /console/p/{program}/resources/{id}":         {Do: showResource},
	"POST /console/p/{program}/resources/{id}":        {Do: saveResource},
	"POST /console/p/{program}/resources/{id}/delete": {Do: deleteResource},
}

const resourcesPath = "/resources"

// shelf holds the data of the pages of resources: the list, or the edited resource.
type shelf struct {
	site.Listing
	api.Resource
	Groups, Tags []site.Option
}

// resources shows what partners can use, with a form for more.
func resources(v *visit) error {
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	reply, err := v.console.api.ListResourcesWithResponse(v.Ctx(), &api.ListResourcesParams{
		ProgramID: v.program.ID, StartingAfter: turn.After, EndingBefore: turn.Before,
	})
	if err != nil {
		return err
	}
	list := reply.JSON200
	found := pageOf(list.Data, list.HasMore, list.TotalCount)
	data := shelf{Listing: site.Listed(v.Request().URL, turn, found,
		func(r api.Resource) string { return r.ID }, list.Data)}
	if data.Groups, data.Tags, err = v.audienceChoices(nil, nil); err != nil {
		return err
	}
	return v.show(sheet{"resources", resourcesPath, "Resources", data})
}

func resourceTable(v *visit) error {
	query := v.query()
	query.Set("program_id", v.program.ID)
	return v.fileOf("listResources", "resources", query, []field{
		plainField("Title", "title"),
		wordField("Kind", "kind"),
		plainField("Folder", "folder"),
		plainField("Address", "url"),
		plainField("File type", "mime_type"),
		plainField("Bytes", "size_bytes"),
		yesField("Published", "published"),
		dayField("Added", "created_at"),
		rowID,
	})
}

func createResource(v *visit) error {
	if err := v.send("createResource", v.body("createResource"), nil); err != nil {
		return v.again(err, resources)
	}
	return v.done(v.at(resourcesPath), "The resource is published.")
}

// showResource is the form of one resource.
func showResource(v *visit) error {
	reply, err := v.console.api.RetrieveResourceWithResponse(v.Ctx(), v.PathValue("id"),
		&api.RetrieveResourceParams{ProgramID: &v.program.ID})
	if err != nil {
		return err
	}
	data := shelf{Resource: *reply.JSON200}
	if data.Groups, data.Tags, err = v.audienceChoices(data.GroupIds, data.TagIds); err != nil {
		return err
	}
	return v.show(sheet{"resource", resourcesPath, data.Title, data})
}

func saveResource(v *visit) error {
	if err := v.send("updateResource", v.body("updateResource"), nil, v.PathValue("id")); err != nil {
		return v.again(err, showResource)
	}
	return v.done(v.at(resourcesPath), "The resource is saved.")
}

func deleteResource(v *visit) error {
	if err := v.send("deleteResource", nil, nil, v.PathValue("id")); err != nil {
		return v.again(err, showResource)
	}
	return v.done(v.at(resourcesPath), "The resource is deleted.")
}

// resourceForm is the form of a resource, for the template of its fields.
type resourceForm struct {
	frame
	Of        shelf
	Published bool
}

// ResourceForm is the form of a resource, or of a new one.
func (f frame) ResourceForm(of shelf, published bool) resourceForm {
	return resourceForm{f, of, published}
}
