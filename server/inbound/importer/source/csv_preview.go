package source

import (
	"errors"
	"io"
)

// Preview returns the cells of the first n lines after the header. Lines that cannot be read are left out.
func (c CSV) Preview(kind Kind, file io.Reader, n int) ([][]string, error) {
	t, err := CSV{}.open(kind, file)
	if err != nil {
		return nil, err
	}
	var all [][]string
	for len(all) < n {
		if err := t.next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return all, err
		}
		if t.wrong == "" {
			all = append(all, t.cells)
		}
	}
	return all, nil
}
