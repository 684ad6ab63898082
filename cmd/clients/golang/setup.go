package golang

import "rail/cmd/clients/model"

// setup makes the client of a sample, in a function that has ctx and returns an error.
const setup = `import "` + Path + `"

rail, err := client.New(os.Getenv("RAIL_BASE_URL"), os.Getenv("RAIL_API_KEY"))
if err != nil {
	return err
}
`

// Setup returns what precedes a sample: the import, and the client.
func Setup(model.Method) string { return setup }
