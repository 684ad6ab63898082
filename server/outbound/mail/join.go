package mail

// JoinConfirm brings who applies to a program the link that confirms it; token is the link's.
func JoinConfirm(to Reader, key, token string) Message {
	return to.letter("join_confirm", key).titled("Confirm your application to %s", to.name()).
		says("You want to become a partner of %s. Confirm it within 48 hours.", to.name()).
		offers("Confirm your application", "join/confirm/"+token).
		says("If that was not you, nothing needs to be done.").Message
}

// JoinKnown tells a partner who applies again that it is one already.
func JoinKnown(to Reader, key string) Message {
	return to.letter("join_known", key).titled("You are a partner of %s already", to.name()).
		says("Somebody applied to %s with your address, and you are a partner already.", to.name()).
		offers("Open your portal", to.portal()).
		says("If that was not you, nothing needs to be done.").Message
}

// JoinWaiting tells who applies again that the program knows the address.
func JoinWaiting(to Reader, key string) Message {
	return to.letter("join_waiting", key).titled("Your application to %s", to.name()).
		says("Somebody applied to %s with your address. The program knows it already, and you will hear from it.", to.name()).
		says("If that was not you, nothing needs to be done.").Message
}
