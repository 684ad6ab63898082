package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/money/ledger"
	"rail/server/money/ledger/check"
	"rail/server/postgres/archive"
	"rail/server/postgres/backup"
	"rail/server/postgres/embedded"
)

// archives returns the keeper of base backups of the private database. They include the secret key if a
// passphrase is set, since a server cannot ask for one.
func (d *database) archives(env *Env) *archive.Keeper {
	return &archive.Keeper{
		Pool: d.pool, History: d.server.History, Days: d.config.ArchiveDays, Clock: clock.Wall(env.Clock),
		Log:  logger(env.Err, d.config),
		Made: func(ctx context.Context) { d.recordBackup(ctx, env) },
		Manifest: func(ctx context.Context) (archive.Manifest, error) {
			m, err := d.manifest(ctx, env)
			if err == nil && unattended.isGiven(env) {
				m.Keys, err = d.sealedKeys(env, unattended)
			}
			return archive.Manifest{Rail: m.Rail, Fingerprints: m.Fingerprints, Keys: m.Keys}, err
		},
	}
}

// unattended reads the passphrase only from the variable.
var unattended = passphrase{new(string)}

// keepArchive makes the server's base backups until ctx ends.
func (d *database) keepArchive(ctx context.Context, env *Env) {
	if !unattended.isGiven(env) {
		fmt.Fprintf(env.Err, "The archive does not contain the secret key, without which it is useless: keep %s in another place, or set %s.\n",
			d.config.KeyFrom, passphraseVariable)
	}
	d.archives(env).Keep(ctx)
}

// archiveBase makes a base backup now.
func archiveBase(*pflag.FlagSet) action {
	return func(ctx context.Context, env *Env, _ []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			if d.config.ArchiveDir == "" {
				return errors.New("there is no archive: RAIL_ARCHIVE_DIR is not set")
			}
			b, err := d.archives(env).Make(ctx)
			if err != nil {
				return err
			}
			return env.print(b.Range(), line("%s restores to %s and later", b.Folder(), clock.At(b.Ended)))
		})
	}
}

// archiveList lists the times that can be restored.
func archiveList(*pflag.FlagSet) action {
	return func(_ context.Context, env *Env, _ []string) error {
		cfg, err := config.Read(env.Environ)
		if err != nil {
			return err
		}
		if cfg.ArchiveDir == "" {
			return errors.New("RAIL_ARCHIVE_DIR must name the archive")
		}
		ranges, err := archive.List(cfg.ArchiveDir)
		if err != nil {
			return err
		}
		return env.print(ranges, func() []string {
			rows := []string{"FROM\tTO\tMB\tKEY\tBASE BACKUP"}
			for _, r := range ranges {
				key := "no"
				if r.Key {
					key = "sealed"
				}
				row := fmt.Sprintf("%s\t%s\t%d\t%s\t%s", clock.At(r.From), clock.At(r.To), r.Bytes>>20, key, r.Base)
				if r.Missing != "" {
					row += "; WAL is missing from " + r.Missing
				}
				rows = append(rows, row)
			}
			return rows
		})
	}
}

// archiveHelp describes the archive.
func archiveHelp() string {
	return `With RAIL_ARCHIVE_DIR, the private PostgreSQL of rail serve writes every change to that folder within a minute.
rail serve makes a base backup a day, and deletes files older than RAIL_ARCHIVE_DAYS. rail restore FOLDER --to TIME restores.
`
}

// restoreArchive restores the private database to a time, by default the last one of the archive.
func restoreArchive(ctx context.Context, env *Env, dir, to string, phrase passphrase) error {
	var moment clock.Time
	var err error
	if to != "" {
		if moment, err = clock.Parse(to); err != nil {
			return usagef("--to %s", err)
		}
	}
	b, err := archive.Choose(dir, moment.Time)
	if err != nil {
		return err
	}
	cfg, err := config.Read(env.Environ)
	if err != nil {
		return err
	}
	if cfg.DatabaseURL != "" {
		return errors.New("an archive is restored into a private database: unset RAIL_DATABASE_URL")
	}
	_, keep, err := backupKey(env, &cfg, backup.Manifest{Fingerprints: b.Fingerprints, Keys: b.Keys}, phrase)
	if err != nil {
		return err
	}
	last, err := embedded.Recover(ctx, private(cfg, nil), moment.Time, func(into string) error {
		fmt.Fprintf(env.Err, "unpacking %s and %d WAL files for PostgreSQL to replay\n", b.Folder(), b.Files())
		if err := b.Unpack(into, backupProgress(env, "unpacked")); err != nil {
			return err
		}
		return keep() // after the archive is known to be complete, before the database exists
	})
	if err != nil {
		return err
	}
	cfg.ArchiveDir = "" // a trial must not write into it
	return settle(ctx, env, cfg, last)
}

// settle migrates a recovered database to this release, folds the ledger and audits it.
func settle(ctx context.Context, env *Env, cfg config.Config, last time.Time) error {
	at, err := locate(ctx, cfg, nil)
	if err != nil {
		return err
	}
	d := &database{place: at, config: cfg}
	if err = d.open(ctx, env, opening{}); err == nil {
		fmt.Fprintf(env.Err, "the last transaction is of %s; folding the ledger and auditing\n", clock.At(last))
		err = d.checked(ctx, env)
		d.pool.Close()
	}
	return errors.Join(err, at.close())
}

// checked folds the ledger into balances and audits a restored database, to verify it.
func (d *database) checked(ctx context.Context, env *Env) error {
	if err := ledger.NewFolder(d.pool).Fold(ctx); err != nil {
		return err
	}
	return d.audit(ctx, env, check.Options{Keeper: d.keeper, Connections: auditConnections})
}
