package mail

// JoinConfirm sends an applicant the confirmation link; token is the link's.
func JoinConfirm(to Recipient, key, token string) Message {
	return to.letter("join_confirm", key).applicant().subject("Confirm your application to %s", to.name()).
		paragraph("Thanks for applying to %s. Confirm your email within 48 hours to submit your application.", to.name()).
		button("Confirm your application", "join/confirm/"+token).
		paragraph("If this wasn’t you, you can ignore this email.").Message
}

// JoinKnown tells an applicant who is a partner already to sign in.
func JoinKnown(to Recipient, key string) Message {
	return to.letter("join_known", key).subject("You’re already a partner of %s", to.name()).
		paragraph("Someone applied to %s with your address, but you’re already a partner.", to.name()).
		button("Open your portal", to.portal()).
		paragraph("If this wasn’t you, you can ignore this email.").Message
}

// JoinWaiting tells a repeated applicant that the application is under review.
func JoinWaiting(to Recipient, key string) Message {
	return to.letter("join_waiting", key).applicant().subject("Your application to %s", to.name()).
		paragraph("Someone applied to %s with your address. The program already has an application from you and will contact you.", to.name()).
		paragraph("If this wasn’t you, you can ignore this email.").Message
}
