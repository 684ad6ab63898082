package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/klauspost/compress/zstd"

	"rail/server/postgres/migrate"
	"rail/server/secret"
)

// piece is the largest size of an entry with a table's rows. An entry begins with its length, and
// the length of a table is only known at its end.
const piece = 1 << 20

// Write writes the database at dsn to w, and returns the number of rows. It fills in the manifest's
// schema and tables. The DSN must allow transactions of several statements.
func Write(ctx context.Context, dsn string, w io.Writer, m Manifest, keeper *secret.Keeper,
	progress Progress) (n int64, err error) {
	conn, err := connect(ctx, dsn)
	if err != nil {
		return 0, err
	}
	// The transaction has written nothing, and ends with its connection.
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	m.Format = format
	if err := m.begin(ctx, conn); err != nil {
		return 0, err
	}
	packed, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return 0, err
	}
	a := &archive{tar: tar.NewWriter(packed), sum: sha256.New()}
	rows, err := a.fill(ctx, conn, m, progress)
	if err == nil {
		err = a.prove(keeper)
	}
	for _, count := range rows {
		n += count
	}
	return n, errors.Join(err, packed.Close())
}

// begin begins a transaction that sees all tables at one moment, and lists the tables in the
// manifest. It locks them before taking the snapshot, so that migrations wait, and then checks that
// they are still the same.
func (m *Manifest) begin(ctx context.Context, conn *pgx.Conn) error {
	tables, err := includedTables(ctx, conn)
	if err != nil {
		return err
	}
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = quote(t.Name)
	}
	if len(names) == 0 {
		return migrate.ErrEmpty
	}
	for _, sql := range []string{
		// Repeatable read, so that all COPYs see one moment.
		"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
		"LOCK TABLE " + strings.Join(names, ", ") + " IN ACCESS SHARE MODE",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("lock the tables: %w", err)
		}
	}
	if m.Tables, err = includedTables(ctx, conn); err != nil {
		return err
	}
	// A migration has committed between the two reads; its tables may be unlocked.
	if fmt.Sprint(m.Tables) != fmt.Sprint(tables) {
		return errors.New("a migration changed the tables during the backup: start it again")
	}
	var dirty bool
	if m.Schema, dirty, err = migrate.At(ctx, conn); err != nil {
		return err
	}
	latest, err := migrate.Latest()
	switch {
	case err != nil:
		return err
	case dirty:
		return migrate.ErrDirty
	case m.Schema > latest: // this program does not know all of its tables
		return migrate.ErrNewer
	}
	return nil
}

// archive writes the file and computes the checksum of its content.
type archive struct {
	tar *tar.Writer
	sum hash.Hash
}

// add writes an entry and adds it to the checksum. The body is in memory; piece bounds it.
func (a *archive) add(name string, body []byte) error {
	if err := a.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(body))}); err != nil {
		return err
	}
	count(a.sum, name, int64(len(body)))
	a.sum.Write(body)
	_, err := a.tar.Write(body)
	return err
}

// count adds an entry's name and length to the checksum, so that bytes cannot move
// from one entry to another.
func count(sum hash.Hash, name string, size int64) {
	fmt.Fprintf(sum, "%d %s %d\n", len(name), name, size)
}

// addJSON writes v as an entry.
func (a *archive) addJSON(name string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.add(name, body)
}

// fill writes everything except the proof, and returns the number of each table's rows. end.json
// follows the rows because it contains their numbers.
func (a *archive) fill(ctx context.Context, conn *pgx.Conn, m Manifest, progress Progress) (map[string]int64, error) {
	if err := a.addJSON(manifestName, m); err != nil {
		return nil, err
	}
	e := end{Rows: map[string]int64{}, Sequences: map[string]int64{}}
	for _, t := range m.Tables {
		p := &pieces{archive: a, table: t.Name, progress: progress}
		tag, err := conn.PgConn().CopyTo(ctx, p, fmt.Sprintf("COPY (SELECT %s FROM %s) TO STDOUT", t.columns(), quote(t.Name)))
		if err == nil {
			err = p.flush()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		e.Rows[t.Name] = tag.RowsAffected()
	}
	// Read last: sequences do not belong to the snapshot, and must not be behind the rows.
	rows, err := conn.Query(ctx,
		"SELECT sequencename::text, last_value FROM pg_sequences WHERE schemaname = current_schema() AND last_value IS NOT NULL")
	if err != nil {
		return nil, err
	}
	var name string
	var last int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &last}, func() error {
		e.Sequences[name] = last
		return nil
	}); err != nil {
		return nil, err
	}
	return e.Rows, a.addJSON(endName, e)
}

// prove writes the proof, which needs the secret key, and ends the archive.
func (a *archive) prove(keeper *secret.Keeper) error {
	if err := a.add(proofName, []byte(keeper.Mark(proven(a.sum)))); err != nil {
		return err
	}
	return a.tar.Close()
}

// proven returns the text that the proof authenticates.
func proven(sum hash.Hash) string { return "backup " + hex.EncodeToString(sum.Sum(nil)) }

// pieces writes a table's rows as entries of a bounded size.
type pieces struct {
	*archive
	table    string
	progress Progress
	buffer   []byte
	n        int
	written  int64
}

// Write collects the table's bytes and writes an entry for each full piece. A row may be split over two.
func (p *pieces) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		take := min(len(rest), piece-len(p.buffer))
		p.buffer, rest = append(p.buffer, rest[:take]...), rest[take:]
		if len(p.buffer) == piece {
			if err := p.flush(); err != nil {
				return 0, err
			}
		}
	}
	return len(b), nil
}

// flush writes the collected bytes as an entry.
func (p *pieces) flush() error {
	if len(p.buffer) == 0 {
		return nil
	}
	p.n++
	p.written += int64(len(p.buffer))
	p.progress(p.table, p.written)
	err := p.add(fmt.Sprintf("%s%s/%08d", tablePrefix, p.table, p.n), p.buffer)
	p.buffer = p.buffer[:0]
	return err
}
