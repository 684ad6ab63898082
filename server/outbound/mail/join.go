package mail

// JoinConfirm sends an applicant the confirmation link; token is the link's.
func JoinConfirm(to Recipient, key, token string) Message {
	return to.letter("join_confirm", key).subject("Confirm your application to %s", to.name()).
		paragraph("You applied to become a partner of %s. Confirm your application within 48 hours.", to.name()).
		button("Confirm your application", "join/confirm/"+token).
		paragraph("If that was not you, you can ignore this mail.").Message
}

// JoinKnown tells an applicant who is a partner already to sign in.
func JoinKnown(to Recipient, key string) Message {
	return to.letter("join_known", key).subject("You are a partner of %s already", to.name()).
		paragraph("There was an application to %s with your address, and you are a partner already.", to.name()).
		button("Open your portal", to.portal()).
		paragraph("If that was not you, you can ignore this mail.").Message
}

// JoinWaiting tells a repeated applicant that the application is under review.
func JoinWaiting(to Recipient, key string) Message {
	return to.letter("join_waiting", key).subject("Your application to %s", to.name()).
		paragraph("There was another application to %s with your address. Your first application is under review, and the program will contact you.", to.name()).
		paragraph("If that was not you, you can ignore this mail.").Message
}
