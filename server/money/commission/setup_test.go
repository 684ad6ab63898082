package commission_test

import "rail/server/harness/apitest"

// M is a JSON object.
type M = apitest.M
