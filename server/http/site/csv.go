package site

import (
	"bytes"
	"encoding/csv"
	"net/http"

	"github.com/labstack/echo/v4"
)

// SendCSV answers with rows as a file for spreadsheets.
func SendCSV(c echo.Context, name string, rows [][]string) error {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	_ = w.WriteAll(rows) // to a buffer
	return SendFile(c, name+".csv", "text/csv; charset=utf-8", out.Bytes())
}

// SendFile answers with a file to save.
func SendFile(c echo.Context, name, kind string, body []byte) error {
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	return c.Blob(http.StatusOK, kind, body)
}
