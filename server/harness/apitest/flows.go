package apitest

import "github.com/stretchr/testify/require"

// Branch is the branch of a flow with a rate in hundredths of a percent.
func Branch(rate int, conditions ...any) M {
	if conditions == nil {
		conditions = []any{}
	}
	return M{"conditions": conditions, "rate_type": "percent", "rate_value": rate}
}

// Condition is a condition of a branch.
func Condition(field, operator string, value any) M {
	return M{"field": field, "operator": operator, "value": value}
}

// SoleCommission returns the commission of a sale, which has at most one.
func (s *Server) SoleCommission(program, sale string) (Answer, bool) {
	s.T.Helper()
	list := s.Must(200, s.Get("/v1/commissions?program_id="+program+"&sale_id="+sale)).Data()
	require.LessOrEqual(s.T, len(list), 1)
	if len(list) == 0 {
		return Answer{}, false
	}
	return Answer{Body: list[0]}, true
}
