package risk

import "strings"

// free are the larger free email providers, including relays. Sharing such a domain proves nothing.
var free = strings.Fields(`
	gmail.com googlemail.com outlook.com hotmail.com live.com msn.com yahoo.com ymail.com rocketmail.com
	yahoo.co.uk yahoo.de yahoo.fr icloud.com me.com mac.com aol.com proton.me protonmail.com pm.me gmx.com
	gmx.de gmx.net gmx.at gmx.ch web.de t-online.de freenet.de mail.com zoho.com fastmail.com tutanota.com
	tuta.io hey.com hotmail.co.uk hotmail.fr hotmail.de live.co.uk orange.fr wanadoo.fr free.fr laposte.net
	sfr.fr libero.it virgilio.it tiscali.it alice.it mail.ru yandex.ru yandex.com bk.ru list.ru inbox.ru
	rambler.ru qq.com 163.com 126.com sina.com foxmail.com naver.com daum.net hanmail.net comcast.net
	verizon.net att.net sbcglobal.net bellsouth.net cox.net charter.net btinternet.com sky.com virginmedia.com
	bigpond.com bigpond.net.au optusnet.com.au uol.com.br bol.com.br terra.com.br privaterelay.appleid.com
	mozmail.com duck.com simplelogin.com aleeas.com anonaddy.com addy.io passmail.net pobox.com seznam.cz
	email.cz centrum.cz wp.pl o2.pl interia.pl onet.pl`)

// families are providers with a domain for each country, all with the same beginning.
var families = strings.Fields(`
	gmail googlemail yahoo ymail rocketmail hotmail outlook live msn windowslive passport gmx aol yandex mail
	proton protonmail tutanota zoho`)

// disposable are the providers of addresses that last for minutes.
var disposable = strings.Fields(`
	mailinator.com guerrillamail.com guerrillamail.net guerrillamail.org guerrillamailblock.com sharklasers.com
	grr.la spam4.me 10minutemail.com 10minutemail.net 20minutemail.com tempmail.com temp-mail.org temp-mail.io
	tempmail.net tempmailo.com tempr.email tempinbox.com throwawaymail.com trashmail.com trashmail.de
	trashmail.net trash-mail.com yopmail.com yopmail.fr yopmail.net getnada.com nada.email maildrop.cc
	mailnesia.com mailcatch.com mintemail.com mohmal.com moakt.com dispostable.com discard.email
	discardmail.com fakeinbox.com fakemailgenerator.com emailondeck.com getairmail.com inboxkitten.com
	mailsac.com mytemp.email spamgourmet.com spambox.us tempail.com burnermail.io mail-temp.com emailfake.com
	1secmail.com 1secmail.net 1secmail.org dropmail.me harakirimail.com incognitomail.org jetable.org
	linshiyouxiang.net minuteinbox.com einrot.com cuvox.de dayrep.com fleckens.hu gustr.com jourrapide.com
	rhyta.com superrito.com teleworm.us armyspy.com`)
