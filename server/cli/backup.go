package cli

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/pflag"

	"rail/server/app/config"
	"rail/server/auth/keyring"
	"rail/server/postgres"
	"rail/server/postgres/backup"
	"rail/server/secret"
)

// backUp writes a backup into a new file, while servers run. It includes the secret key unless --without-key is
// given, since the sealed values are useless without it. The database may have an older schema: a backup comes
// before an upgrade.
func backUp(fs *pflag.FlagSet) action {
	phrase := passphraseFlag(fs)
	without := toggle(fs, "without-key", "leave the secret key out; the backup is useless without it")
	return func(ctx context.Context, env *Env, args []string) error {
		return opening{asIs: true, admit: admitAny}.with(ctx, env, func(d *database) error {
			m, err := d.manifest(ctx, env)
			if err != nil {
				return err
			}
			// The passphrase is read before anything is written, so that a mistake shows at once and not after an
			// hour.
			key := "with its secret key, sealed"
			if *without {
				key = "WITHOUT its secret key"
				fmt.Fprintf(env.Err,
					"The backup will not hold the secret key (fingerprint %s, from %s). Without that key no API key\n"+
						"works and no webhook secret or payout detail can be read: keep it in another place.\n", d.keeper.Fingerprint(),
					d.config.KeyFrom)
			} else if m.Keys, err = d.sealedKeys(env, phrase); err != nil {
				return err
			}
			n, err := d.writeBackup(ctx, env, args[0], m)
			if err != nil {
				return err
			}
			d.recordBackup(ctx, env)
			return env.print(writtenBackup{args[0], n, !*without}, line("%s: %s, %s", args[0], counted(n, "row"), key))
		})
	}
}

// recordBackup records the backup's time in the database, for metrics and the console. An older database has no column
// for it, and a read-only role may not write it.
func (d *database) recordBackup(ctx context.Context, env *Env) {
	if err := queries.BackupSave(ctx, d.pool, env.Clock.Now()); err != nil && !noTable(err) {
		env.say("the backup was made, but could not be recorded for metrics and the console: %s", err)
	}
}

// writtenBackup is the JSON of a backup.
type writtenBackup struct {
	File    string `json:"file"`
	Rows    int64  `json:"rows"`
	WithKey bool   `json:"with_key"`
}

// backupHelp describes the content of the file.
func backupHelp() string {
	return `The rows are from one point in time; servers continue to run, and migrations wait. The file contains all data, except that values
sealed by the secret key are encrypted: protect it like the database. It excludes portal sessions and sign-in links.
`
}

// admitAny is keyring.Admit, but also accepts an older database without a table of key fingerprints.
func admitAny(ctx context.Context, pool *pgxpool.Pool, g keyring.SecretKey) error {
	err := keyring.Admit(ctx, pool, g)
	if noTable(err) {
		return nil
	}
	return err
}

// noTable reports whether a query failed because its table does not exist.
func noTable(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "42P01"
}

// manifest returns the header of the backup: the version, the time, and the fingerprints of the keys that a
// restored database needs.
func (d *database) manifest(ctx context.Context, env *Env) (backup.Manifest, error) {
	m := backup.Manifest{Rail: build(), CreatedAt: env.Clock.Now().Time}
	fingerprints, err := queries.KeyFingerprints(ctx, d.pool)
	// An older database has no table of fingerprints.
	if err != nil && !noTable(err) {
		return m, err
	}
	for _, k := range fingerprints {
		if k.ReplacedAt == nil {
			m.Fingerprints = append(m.Fingerprints, k.Fingerprint)
		}
	}
	// Nothing is recorded yet, so the given key is the only candidate.
	if len(m.Fingerprints) == 0 {
		m.Fingerprints = []string{d.keeper.Fingerprint()}
	}
	return m, nil
}

// sealedKeys returns the current and the former keys, sealed with the passphrase. The former ones are needed
// while any value is sealed with them.
func (d *database) sealedKeys(env *Env, phrase passphrase) (*backup.SealedKeys, error) {
	text, err := phrase.read(env, true)
	if errors.Is(err, errNoPassphrase) {
		return nil, fmt.Errorf("%w, or leave the secret key out with --without-key", err)
	}
	if err != nil {
		return nil, err
	}
	return backup.SealKeys(append([][32]byte{d.config.SecretKey}, d.config.FormerKeys()...), text)
}

// writeBackup writes the file under a temporary name and renames it when it is complete: a file with the final
// name is a complete backup. It never overwrites one. It bypasses any pooler, since the snapshot needs one
// session, and returns how many rows were written.
func (d *database) writeBackup(ctx context.Context, env *Env, path string, m backup.Manifest) (n int64, err error) {
	// Lstat, since a dangling link counts as existing too.
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return 0, cmp.Or(err, fmt.Errorf("%s exists already", path))
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	n, err = backup.Write(ctx, d.direct, f, m, d.keeper, backupProgress(env, "written"))
	// Synced before the rename: after a crash, the name must not belong to an empty file.
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return n, err
	}
	return n, os.Rename(f.Name(), path)
}

// backupProgress returns a reporter of a backup's progress.
func backupProgress(env *Env, verb string) backup.Progress {
	return func(what string, bytes int64) {
		env.progress.say("the table %s: %.1f MB of it are %s", what, float64(bytes)/(1<<20), verb)
	}
}

// restore fills an empty database from a backup, or creates one from an archive. It checks the whole file before
// it stores the key and creates the database, so that a damaged file leaves nothing behind that looks like a
// database.
func restore(fs *pflag.FlagSet) action {
	phrase := passphraseFlag(fs)
	to := fs.String("to", "", "`TIME` to restore an archive to, such as 2026-09-01T12:00:00Z; its last moment unless given")
	return func(ctx context.Context, env *Env, args []string) error {
		if st, err := os.Stat(args[0]); err == nil && st.IsDir() {
			return restoreArchive(ctx, env, args[0], *to, phrase)
		}
		if *to != "" {
			return usagef("--to is for an archive, which is a folder: %s is not a folder", args[0])
		}
		m, err := backup.Describe(args[0])
		if err != nil {
			return err
		}
		cfg, err := config.Read(env.Environ)
		if err != nil {
			return err
		}
		keeper, keep, err := backupKey(env, &cfg, m, phrase)
		if err != nil {
			return err
		}
		fmt.Fprintf(env.Err, "%s was made at %s; checking it\n", args[0], m.CreatedAt.Format(time.RFC3339))
		if err := backup.Check(ctx, args[0], keeper, backupProgress(env, "read")); err != nil {
			return err
		}
		// The key first: without it, the restored values could not be opened.
		if err := keep(); err != nil {
			return err
		}
		at, err := locate(ctx, cfg, nil)
		if err != nil {
			return err
		}
		return errors.Join(fill(ctx, env, &database{place: at, config: cfg, keeper: keeper}, args[0]), at.close())
	}
}

// restoreHelp describes the target of a restore, and its outdated parts.
func restoreHelp() string {
	return `The database is a private one in an empty RAIL_DATA_DIR, which also gets the secret key of the backup, or the one of
RAIL_DATABASE_URL, for which RAIL_SECRET_KEY must be that key: rail restore key shows it. No server may run on it. The
file is read twice: nothing is written before the whole file has been checked.

A folder is an archive (RAIL_ARCHIVE_DIR), from which a private database is restored to a point in time: rail archive list
shows the available times.

Changes after the backup, or that time, are lost: payouts sent since then are due again, API keys revoked since then work
again, and webhooks delivered since then may be sent again. Check these before you start the server.
`
}

// backupKey returns the secret key of a backup, from the configuration or, for a new private database, from the
// backup. In the second case keep writes it beside the new database; call it once the file is known to be
// complete. A configured key that differs from the backup's is refused with keyring.ErrWrongKey.
func backupKey(env *Env, cfg *config.Config, m backup.Manifest, phrase passphrase) (*secret.Keeper, func() error, error) {
	keep := func() error { return nil }
	// In a folder without a database, using the backup's key loses no other key.
	if cfg.Fresh() {
		keys, err := keysOf(env, m, phrase)
		if err != nil {
			return nil, nil, err
		}
		cfg.SecretKey, cfg.KeyFrom = keys[0], "the backup"
		keep = func() error { return cfg.KeepKey(keys[0]) }
	} else if err := cfg.LoadKey(); err != nil {
		return nil, nil, err
	}
	keeper, err := secret.New(cfg.SecretKey, cfg.FormerKeys()...)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range m.Fingerprints {
		if !slices.Contains(keeper.Fingerprints(), f) {
			return nil, nil, fmt.Errorf("%w: the backup needs %s, %s has %s; rail restore key shows its keys, for RAIL_SECRET_KEY and "+
				"RAIL_SECRET_KEY_PREVIOUS", keyring.ErrWrongKey, strings.Join(m.Fingerprints, " and "), cfg.KeyFrom,
				strings.Join(keeper.Fingerprints(), " and "))
		}
	}
	return keeper, keep, nil
}

// keysOf opens the keys in a backup, the current one first.
func keysOf(env *Env, m backup.Manifest, phrase passphrase) ([][32]byte, error) {
	if m.Keys == nil {
		return nil, fmt.Errorf("the backup does not contain its secret key, with the fingerprint %s: set RAIL_SECRET_KEY",
			strings.Join(m.Fingerprints, " and "))
	}
	text, err := phrase.read(env, false)
	if err != nil {
		return nil, err
	}
	return m.Keys.Open(text)
}

// fill restores the rows and checks the result.
func fill(ctx context.Context, env *Env, d *database, path string) error {
	n, err := backup.Restore(ctx, d.direct, path, d.keeper, backupProgress(env, "read"))
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Err, "%s restored; folding the ledger and auditing\n", counted(n, "row"))
	if d.pool, err = postgres.Open(ctx, d.dsn, postgres.Options{MaxConns: d.config.DBMaxConns, Check: true}); err != nil {
		return err
	}
	// The keyring comes after the rows, which include its fingerprints.
	defer d.pool.Close()
	if err := keyring.Admit(ctx, d.pool, d.keys(env, true)); err != nil {
		return err
	}
	return d.checked(ctx, env)
}

// restoreKey prints the keys of a backup as environment variables, at most two: the configuration accepts one
// former key.
func restoreKey(fs *pflag.FlagSet) action {
	phrase := passphraseFlag(fs)
	return func(_ context.Context, env *Env, args []string) error {
		m, err := backup.Describe(args[0])
		if err != nil {
			return err
		}
		keys, err := keysOf(env, m, phrase)
		if err != nil {
			return err
		}
		values := map[string]string{}
		var rows []string
		for i, name := range []string{"RAIL_SECRET_KEY", "RAIL_SECRET_KEY_PREVIOUS"}[:min(2, len(keys))] {
			values[name] = hex.EncodeToString(keys[i][:])
			rows = append(rows, name+"="+values[name])
		}
		return env.print(values, func() []string { return rows })
	}
}
