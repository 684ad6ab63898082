package lenient

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type members struct {
	Text   Text              `json:"text"`
	ID     ID                `json:"id"`
	Ref    Ref[inner]        `json:"ref"`
	List   List[inner]       `json:"list"`
	Int    Int               `json:"int"`
	Bool   Bool              `json:"bool"`
	Meta   Meta              `json:"meta"`
	Struct struct{ Last ID } `json:"struct"`
}

type inner struct {
	Name Text `json:"name"`
}

// TestInto: valid members are read, others stay empty, and neither affects the members beside it.
func TestInto(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]members{
		`{}`:                        {},
		`{"text":"a"}`:              {Text: "a"},
		`{"text":5}`:                {},
		`{"text":"a\u0000b"}`:       {Text: "ab"},
		`{"id":"x"}`:                {ID: "x"},
		`{"id":17}`:                 {ID: "17"},
		`{"id":{"id":"x"}}`:         {ID: "x"},
		`{"id":[1]}`:                {},
		`{"id":{"id":{"id":"x"}}}`:  {}, // otherwise the depth would multiply the work
		`{"id":"a\u0000b"}`:         {},
		`{"ref":"x"}`:               {Ref: Ref[inner]{ID: "x"}},
		`{"ref":{"id":"x"}}`:        {Ref: Ref[inner]{ID: "x"}},
		`{"ref":{"name":"n"}}`:      {Ref: Ref[inner]{Object: inner{"n"}}},
		`{"list":[{"name":"n"},3]}`: {List: List[inner]{{"n"}, {}}},
		`{"list":{"data":[{}]}}`:    {List: List[inner]{{}}},
		`{"list":{"data":7}}`:       {},
		`{"list":"x"}`:              {},
		`{"int":5}`:                 {Int: Int{5, true}},
		`{"int":"-5"}`:              {Int: Int{-5, true}},
		`{"int":5.5}`:               {},
		`{"int":""}`:                {},
		`{"int":null}`:              {},
		`{"int":1e400}`:             {},
		`{"bool":false}`:            {Bool: Bool{OK: true}},
		`{"bool":"true"}`:           {},
		`{"meta":{"a":1}}`:          {Meta: Meta{"a": 1.0}},
		`{"meta":[]}`:               {},
		`{"struct":"x","text":"a"}`: {Text: "a"},
	} {
		var got members
		require.NoError(t, Into([]byte(text), &got), text)
		require.Equal(t, want, got, text)
	}
	syntax := (*json.SyntaxError)(nil)
	require.ErrorAs(t, Into([]byte(`{"text"`), &members{}), &syntax)
}

// TestLengths: a long text is cut, a long id is refused.
func TestLengths(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 300)
	var got members
	require.NoError(t, Into([]byte(`{"text":"`+long+`","id":"`+long+`"}`), &got))
	require.Equal(t, Text(strings.Repeat("é", 255)), got.Text)
	require.Empty(t, got.ID)
}

func TestWithin(t *testing.T) {
	require.Nil(t, Int{N: 7}.Within(9))
	for n, want := range map[int64]int64{-1: 0, 7: 7, 9: 9, 10: 9} {
		require.Equal(t, want, *Int{n, true}.Within(9))
	}
}

// TestTime accepts only times of this century.
func TestTime(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]bool{0: false, 946684800: true, 4102444799: true, 4102444800: false, -1: false, 1 << 62: false} {
		_, ok := Int{n, true}.Time()
		require.Equal(t, want, ok, n)
	}
	_, ok := Int{N: 1767225600}.Time()
	require.False(t, ok)
}
