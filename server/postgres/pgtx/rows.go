package pgtx

import "github.com/jackc/pgx/v5"

// batchRows are the rows of a batch's last statement. Closing them closes the batch, which frees
// the connection.
type batchRows struct {
	pgx.Rows
	batch pgx.BatchResults
	err   error
}

// Close may be called again, as pgx.Rows promises.
func (r *batchRows) Close() {
	r.Rows.Close()
	if r.batch != nil {
		r.err = r.batch.Close()
		r.batch = nil
	}
}

// Next closes the rows after the last one, so that Err has all errors by then.
func (r *batchRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

// Err also returns the error of the batch.
func (r *batchRows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.err
}

// row is a pgx.Row that scans the first of rows.
type row struct {
	rows pgx.Rows
	err  error
}

func (r row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}
