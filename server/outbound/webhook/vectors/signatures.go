package vectors

// The secrets of the vectors.
const (
	Secret1 = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	Secret2 = "whsec_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="
	Secret3 = "whsec_//79/Pv6+fj39vX08/Lx8O/u7ezr6uno"
)

// input is the signed content; Time is Unix seconds.
type input struct {
	ID   string
	Time int64
	Body string
}

var (
	// The body is signed as sent, so it is one line.
	b1 = input{
		"evt_01J5ZK7Q8R9S0T1V2W3X4Y5Z6A", 1767225600,
		`{"id":"evt_01J5ZK7Q8R9S0T1V2W3X4Y5Z6A","type":"sale.created","created_at":"2026-01-01T00:00:00Z","data":{"sale_id":"sale_1","customer_id":"cus_1","partner_id":"part_1","amount_minor":4999,"currency":"USD","is_first_sale":true,"external_charge_id":"ch_1","occurred_at":"2026-01-01T00:00:00Z"},"request":{"id":"req_1"}}`,
	}
	// Letters beyond ASCII are signed as UTF-8, without escapes.
	b2 = input{
		"evt_test_0000000000000000000000002", 1789430400,
		`{"id":"evt_test_0000000000000000000000002","type":"affiliate.created","created_at":"2026-09-15T00:00:00Z","data":{"partner_id":"part_2","email":"zoë@exämple.com","handle":"zoe","status":"active","group_id":null}}`,
	}
	// The shortest input: the first second of 1970 and an empty object.
	b3 = input{"evt_3", 1, "{}"}
)

// Signature is an input with its signatures by some secrets, newest first. Rail is empty if only the standard
// signature was published.
type Signature struct {
	input
	Secrets        []string
	Rail, Standard string
}

// Signatures are the vectors; the last is from the Standard Webhooks project.
var Signatures = []Signature{
	{
		b1, []string{Secret1}, "t=1767225600,v1=4e2300c9ab9338951ec852f18a1f77e84ef9a8fd6905301a14c5c551624596ea",
		"v1,enSr6o0GV1sz6yoSXHtKaGeaga2jc2vsNyK3WXiVMQ4=",
	},
	{
		b1, []string{Secret2}, "t=1767225600,v1=c4564dc44ae41e671850c9503a3f81b26e3e5ac4bcfe4c0d994a40578f29523c",
		"v1,zLzZ023/g6eL9y6KcfJHeoulBSnjkC0PibBRciPbfGQ=",
	},
	{
		b1, []string{Secret3}, "t=1767225600,v1=4f71c00c721f7cba82a0162998cfb4d5d372097ef0fac8acfcfeb7cc53f89917",
		"v1,QYnHYg6EBQhLT1+0PtBJOEC4c6TACnq8tNDWMbURyok=",
	},
	{
		b2, []string{Secret1}, "t=1789430400,v1=27c03b8ee134fe40ff9cf4622006ddbfe515d9672f63e14628599cdb8b049652",
		"v1,y6hMA7gRLj+/PmCCs7cTZxJAMj/DKzd+KyWJtk6Pyio=",
	},
	{
		b2, []string{Secret3}, "t=1789430400,v1=3e44c60fec7b46df1cfd5dac295fc1321571f306c0f5b55ad3776bfdceaf4b1d",
		"v1,17Iaj16MM+4L+bGW9zE0MEWEdqBTtZnX6kj/FbT3qQ8=",
	},
	{
		b3, []string{Secret1}, "t=1,v1=43d1905dbf779f405df880a71be54cfbee97a234a4e0e05b8152b16718e7cbc9",
		"v1,ymSJD2tgcypdO+SkNEgSLEsnoUVsO8rc5HszoXNAtGE=",
	},
	// During a rotation both secrets sign, newest first.
	{b1, []string{Secret2, Secret1},
		"t=1767225600,v1=c4564dc44ae41e671850c9503a3f81b26e3e5ac4bcfe4c0d994a40578f29523c," +
			"v1=4e2300c9ab9338951ec852f18a1f77e84ef9a8fd6905301a14c5c551624596ea",
		"v1,zLzZ023/g6eL9y6KcfJHeoulBSnjkC0PibBRciPbfGQ= v1,enSr6o0GV1sz6yoSXHtKaGeaga2jc2vsNyK3WXiVMQ4="},
	{b3, []string{Secret3, Secret2},
		"t=1,v1=e01b949d83663a0172031b9b58cc471231a51149c7ba5cb928943f8c69954cff," +
			"v1=f9dd144c4f50ff39a4d4321a24adabfc452b48bf3dabfdc726afc07e7422469a",
		"v1,EXGSYJZpeR0/6uLeOhMm6QsJzGsVrhVgmqafrubgWrA= v1,PMrRPnYjbhIsrp3rwX8DiXCOQShu6Sy5ZW5jyBczgJM="},
	{
		input{"msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, `{"test": 2432232314}`},
		[]string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, "", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
	},
}
