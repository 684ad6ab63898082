package paypaltest

import "net/http"

// apiError is the body of an error.
type apiError struct {
	Name            string   `json:"name"`
	Message         string   `json:"message"`
	DebugID         string   `json:"debug_id"`
	InformationLink string   `json:"information_link"`
	Details         []detail `json:"details"`
	Links           []link   `json:"links"`
}

// detail is a fault of one field. Link is only in the answer to a repeated sender_batch_id.
type detail struct {
	Field    string `json:"field"`
	Location string `json:"location,omitempty"`
	Issue    string `json:"issue"`
	Link     []link `json:"link,omitempty"`
}

type link struct {
	Href    string `json:"href"`
	Rel     string `json:"rel"`
	Method  string `json:"method"`
	EncType string `json:"encType"`
}

const errorsPage = "https://developer.paypal.com/docs/api/payments.payouts-batch/#errors"

// messages has the text of each error of a request and of an item.
var messages = map[string]string{
	"AUTHORIZATION_ERROR":        "Authorization error occurred.",
	"INSUFFICIENT_FUNDS":         "The sender has insufficient funds.",
	"INTERNAL_SERVER_ERROR":      "An internal server error occurred.",
	"INVALID_RESOURCE_ID":        "The requested resource ID was not found.",
	"ITEM_ALREADY_CANCELLED":     "The item is canceled already.",
	"ITEM_INCORRECT_STATUS":      "Only an unclaimed item can be canceled.",
	"MALFORMED_REQUEST":          "The JSON request is malformed.",
	"NON_HOLDING_CURRENCY":       "The account has no balance in this currency.",
	"RATE_LIMIT_REACHED":         "Too many requests. Blocked due to rate limiting.",
	"SERVICE_UNAVAILABLE":        "Service unavailable.",
	"UNSUPPORTED_MEDIA_TYPE":     "The server does not support the media type of the request.",
	"USER_BUSINESS_ERROR":        "User business error.",
	"VALIDATION_ERROR":           "Invalid request - see details.",
	"RECEIVER_UNREGISTERED":      "The receiver has no account. Unclaimed money returns after 30 days.",
	"RECEIVER_UNCONFIRMED":       "The receiver's address is not confirmed. Unclaimed money returns after 30 days.",
	"RECEIVER_ACCOUNT_LOCKED":    "The receiver's account is inactive or restricted.",
	"RECEIVER_ACCOUNT_INVALID":   "The receiver's account does not exist.",
	"RISK_DECLINE":               "The payout was declined for risk.",
	"DUPLICATE_ITEM":             "The batch has an earlier item with this sender_item_id.",
	"WEBHOOK_URL_ALREADY_EXISTS": "A webhook with this URL exists.",
}

// fail returns an error by its name.
func fail(status int, name string, details ...detail) answer {
	if details == nil {
		details = []detail{}
	}
	message := messages[name]
	if message == "" {
		message = name
	}
	return answer{status: status, body: apiError{
		Name:            name,
		Message:         message,
		DebugID:         "f05063556a338",
		InformationLink: errorsPage,
		Details:         details,
		Links:           []link{},
	}}
}

func invalid(details ...detail) answer {
	return fail(http.StatusBadRequest, "VALIDATION_ERROR", details...)
}

func unknownID() answer { return fail(http.StatusNotFound, "INVALID_RESOURCE_ID") }

// oauthError returns an error in the form of OAuth, which PayPal also uses for tokens of the API.
func oauthError(status int, code, text string) answer {
	return answer{status: status, body: map[string]string{"error": code, "error_description": text}}
}

var invalidToken = oauthError(http.StatusUnauthorized, "invalid_token", "The token is unknown or has expired")

// link returns a link to a path of the API.
func (s *Server) link(rel, path string) link {
	return link{Href: s.config.LinkBase + path, Rel: rel, Method: http.MethodGet, EncType: "application/json"}
}
