package python

import "rail/cmd/clients/model"

// setup makes the client of a sample.
const setup = `import os
from rail_client import Rail

rail = Rail(os.environ["RAIL_BASE_URL"], os.environ["RAIL_API_KEY"])
`

// Setup returns what begins a program with a sample: the import, and the client.
func Setup(model.Method) string { return setup }
