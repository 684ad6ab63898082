package pgtx

import "github.com/jackc/pgx/v5"

// batchRows closes its batch with itself.
type batchRows struct {
	pgx.Rows
	batch pgx.BatchResults
	err   error
}

func (r *batchRows) Close() {
	r.Rows.Close()
	if r.batch != nil {
		r.err = r.batch.Close()
		r.batch = nil
	}
}

func (r *batchRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *batchRows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.err
}

// row is the first of rows.
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
