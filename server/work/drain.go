package work

// Drain calls some until it returns less than a full batch. Each call is bounded, so that no row is locked for long.
func Drain[N int | int64](batch N, some func() (N, error)) error {
	for {
		n, err := some()
		if err != nil || n < batch {
			return err
		}
	}
}
