package middleware

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"

	"rail/server/problem"
)

// maxFurther bounds the further parameters that a refusal names.
const maxFurther = 5

// every is validation that does not stop at the first fault.
var every = &openapi3filter.Options{
	AuthenticationFunc:  validation.AuthenticationFunc,
	SkipSettingDefaults: validation.SkipSettingDefaults,
	MultiError:          true,
}

// further adds the names of the other parameters at fault to the message of a refusal. It
// validates the request a second time, because the first time ended at the first fault.
func (d *Document) further(
	ctx context.Context, in openapi3filter.RequestValidationInput, first *problem.Error,
) *problem.Error {
	if first.Param == "" {
		return first
	}
	in.Options = every
	var names []string
	for _, err := range single(openapi3filter.ValidateRequest(ctx, &in)) {
		name := d.refusal(err).Param
		if name != "" && name != first.Param && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if more := len(names) - maxFurther; more > 0 {
		names = append(names[:maxFurther], fmt.Sprintf("%d more", more))
	}
	if len(names) > 0 {
		first.Message += " Also at fault: " + strings.Join(names, ", ") + "."
	}
	return first
}

// single returns the errors within err. An error of a request keeps its parameter.
func single(err error) (out []error) {
	if err == nil {
		return nil
	}
	if all, ok := err.(openapi3.MultiError); ok { //nolint:errorlint // As would find the first within it
		for _, one := range all {
			out = append(out, single(one)...)
		}
		return out
	}
	re, ok := err.(*openapi3filter.RequestError) //nolint:errorlint // as above
	if !ok || !errors.Is(re.Err, openapi3.MultiError{}) {
		return []error{err}
	}
	for _, one := range single(re.Err) {
		part := *re
		part.Err = one
		out = append(out, &part)
	}
	return out
}
