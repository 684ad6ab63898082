package handlers

// TrackingURL is a page's address with a tracking value.
func TrackingURL(destination, param, value string) string {
	return trackingURL(destination, param, value)
}
