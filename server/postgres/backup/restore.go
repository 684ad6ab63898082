package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/server/clock"
	"rail/server/postgres/migrate"
	"rail/server/secret"
)

// fingerprints is the only table that a server fills before anything else. The backup's rows
// replace its rows.
const fingerprints = "key_fingerprints"

// Restore fills the database at dsn from a backup, and migrates it to this program's version. The
// database must be empty and have no other connections. Restore returns the number of rows. It
// loads them in one transaction: after an error there are none.
func Restore(ctx context.Context, dsn, path string, keeper *secret.Keeper, progress Progress) (n int64, err error) {
	s, err := open(path, progress)
	if err != nil {
		return 0, err
	}
	defer s.close()
	if err := s.checkEmpty(ctx, dsn); err != nil {
		return 0, err
	}
	// Load into the tables of the backup's version; later migrations then change tables and rows.
	if err := migrate.To(ctx, dsn, s.manifest.Schema); err != nil {
		return 0, err
	}
	conn, err := connect(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if err := pgx.BeginFunc(ctx, conn, func(pgx.Tx) error {
		n, err = s.load(ctx, conn, keeper)
		return err
	}); err != nil {
		return 0, err
	}
	if err := migrate.Up(ctx, dsn); err != nil {
		return n, err
	}
	// Plans are bad until the tables have statistics, and autovacuum may take long.
	progress("analyzing", s.read)
	_, err = conn.Exec(ctx, "ANALYZE")
	return n, err
}

// checkEmpty returns nil if the database may be filled from the backup.
func (s *source) checkEmpty(ctx context.Context, dsn string) (err error) {
	latest, err := migrate.Latest()
	if err != nil {
		return err
	}
	if s.manifest.Schema > latest {
		return fmt.Errorf("the backup is of schema version %d and this program knows %d: restore it with the Rail that wrote it, %s",
			s.manifest.Schema, latest, s.manifest.Rail)
	}
	conn, err := connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if err := alone(ctx, conn); err != nil {
		return err
	}
	tables, err := includedTables(ctx, conn)
	if err != nil {
		return err
	}
	for _, t := range tables {
		var filled bool
		if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+quote(t.Name)+")").Scan(&filled); err != nil {
			return err
		}
		// A server that has just created its tables has inserted the fingerprint of its key.
		if filled && t.Name != fingerprints {
			return fmt.Errorf("%w: %s has rows; restore into another database or another folder", ErrNotEmpty, t.Name)
		}
	}
	return nil
}

// alone waits up to three seconds until the database has no other connections: closed ones take a
// moment to disappear.
func alone(ctx context.Context, conn *pgx.Conn) error {
	for tries := 0; ; tries++ {
		var others int
		err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND usesysid IS NOT NULL`).Scan(&others)
		if err != nil || others == 0 {
			return err
		}
		if tries == 30 {
			return fmt.Errorf("%w: %d other connections: stop the servers first", ErrInUse, others)
		}
		if clock.Wait(ctx, 100*time.Millisecond) != nil {
			return ctx.Err()
		}
	}
}

// load drops foreign keys, indexes and triggers, copies the rows, checks the proof and the counts,
// and then recreates them.
func (s *source) load(ctx context.Context, conn *pgx.Conn, keeper *secret.Keeper) (n int64, err error) {
	here, err := includedTables(ctx, conn)
	if err != nil {
		return 0, err
	}
	parts, err := heavy(ctx, conn)
	if err != nil {
		return 0, err
	}
	// Triggers would count the rows a second time; the backup contains the counters.
	for _, t := range here {
		parts.off = append(parts.off, "ALTER TABLE "+quote(t.Name)+" DISABLE TRIGGER USER")
		parts.back = append(parts.back, "ALTER TABLE "+quote(t.Name)+" ENABLE TRIGGER USER")
		if t.Name == fingerprints {
			parts.off = append(parts.off, "DELETE FROM "+fingerprints)
		}
	}
	if err := s.each(ctx, conn, "preparing", parts.off); err != nil {
		return 0, err
	}
	came, err := s.copy(ctx, conn, here)
	if err != nil {
		return 0, err
	}
	e, err := s.finish(keeper)
	if err != nil {
		return 0, err
	}
	for table, rows := range came {
		if n += rows; rows != e.Rows[table] {
			return 0, fmt.Errorf("%w: %s has %d rows of %d", ErrDamaged, table, rows, e.Rows[table])
		}
	}
	if err := s.each(ctx, conn, "indexes and foreign keys", parts.back); err != nil {
		return 0, err
	}
	return n, sequences(ctx, conn, e.Sequences)
}

// each runs statements in order and reports progress before each.
func (s *source) each(ctx context.Context, conn *pgx.Conn, what string, statements []string) error {
	for _, sql := range statements {
		s.progress(what, s.read)
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// copy copies the tables in the order of the archive, and returns the number of rows of each. It
// checks the names, which become SQL, against the database.
func (s *source) copy(ctx context.Context, conn *pgx.Conn, here []Table) (map[string]int64, error) {
	came := map[string]int64{}
	for name := s.table(); name != ""; name = s.table() {
		i := slices.IndexFunc(s.manifest.Tables, func(t Table) bool { return t.Name == name })
		if i < 0 || !slices.ContainsFunc(here, func(t Table) bool { return t.Name == name }) {
			return nil, fmt.Errorf("%w: schema version %d has no table %q", ErrDamaged, s.manifest.Schema, name)
		}
		sql := fmt.Sprintf("COPY %s (%s) FROM STDIN", quote(name), s.manifest.Tables[i].columns())
		rows := s.rows(name)
		tag, err := conn.PgConn().CopyFrom(ctx, rows, sql)
		// When its reader fails, COPY fails too; the reader's error has the cause.
		if rows.failed != nil { // the cause of the database's error
			return nil, rows.failed
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		came[name] += tag.RowsAffected()
	}
	return came, nil
}

// sequences sets the columns' sequences past the last number of the backup and of the rows, so that
// no number is used twice.
func sequences(ctx context.Context, conn *pgx.Conn, last map[string]int64) error {
	found, err := conn.Query(ctx, `SELECT c.relname::text, a.attname::text, s.relname::text FROM pg_class s
		JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = s.oid AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
		JOIN pg_class c ON c.oid = d.refobjid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
		WHERE s.relkind = 'S' AND s.relnamespace = quote_ident(current_schema())::regnamespace`)
	if err != nil {
		return err
	}
	owned, err := pgx.CollectRows(found, pgx.RowToStructByPos[struct{ Table, Column, Sequence string }])
	if err != nil {
		return err
	}
	for _, i := range owned {
		sql := fmt.Sprintf(`SELECT setval(quote_ident($1)::regclass, greatest(max(%[1]s), $2), true)
			FROM %[2]s HAVING greatest(max(%[1]s), $2) > 0`, quote(i.Column), quote(i.Table))
		if _, err := conn.Exec(ctx, sql, i.Sequence, last[i.Sequence]); err != nil {
			return fmt.Errorf("%s: %w", i.Sequence, err)
		}
	}
	return nil
}
