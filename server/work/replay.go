package work

import "time"

// Replay is how long the answer to a request with an Idempotency-Key is kept and
// given again.
const Replay = 24 * time.Hour
