package mail

// JoinConfirm brings who applies to a program the link that confirms it; token is the link's.
func JoinConfirm(to Reader, key, token string) Message {
	return to.letter("join_confirm", key).titled("Confirm your application to %s", to.name()).
		says("Thanks for applying to %s. Confirm your email within 48 hours to submit your application.", to.name()).
		offers("Confirm your application", "join/confirm/"+token).
		says("If this wasn’t you, you can ignore this email.").Message
}

// JoinKnown tells a partner who applies again that it is one already.
func JoinKnown(to Reader, key string) Message {
	return to.letter("join_known", key).titled("You’re already a partner of %s", to.name()).
		says("Someone applied to %s with your address, but you’re already a partner.", to.name()).
		offers("Open your portal", to.portal()).
		says("If this wasn’t you, you can ignore this email.").Message
}

// JoinWaiting tells who applies again that the program knows the address.
func JoinWaiting(to Reader, key string) Message {
	return to.letter("join_waiting", key).titled("Your application to %s", to.name()).
		says("Someone applied to %s with your address. The program already has an application from you and will contact you.", to.name()).
		says("If this wasn’t you, you can ignore this email.").Message
}
