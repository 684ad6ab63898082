package work

import "time"

// Replay is how long the answer to a request with an Idempotency-Key is stored and repeated.
const Replay = 24 * time.Hour
