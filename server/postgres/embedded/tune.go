package embedded

import "strconv"

// Bounds of what the memory of a machine decides. PostgreSQL shares it with Rail's own server, and with the system's
// cache of files, which serves it too.
const (
	mega = 1 << 20
	giga = 1 << 30
)

// slowStatement is from when on the log has a statement, in milliseconds: requests end theirs after five seconds.
const slowStatement = 1000

// tuned returns the settings of a cluster for a machine with so many bytes of memory, 0 for unknown. Tables become
// large before a fifth of their rows has died, so that they are vacuumed earlier than PostgreSQL does by itself. The
// log has no values of slow statements, since some are secret.
func tuned(memory uint64) []string {
	settings := []string{
		"autovacuum_vacuum_scale_factor=0.02", "autovacuum_analyze_scale_factor=0.02",
		"autovacuum_vacuum_insert_scale_factor=0.05", "autovacuum_vacuum_cost_limit=1000", "autovacuum_naptime=30s",
		"log_min_duration_statement=" + strconv.Itoa(slowStatement), "log_parameter_max_length=0",
		"log_parameter_max_length_on_error=0", "log_lock_waits=on",
	}
	if memory == 0 {
		return settings
	}
	return append(settings,
		"shared_buffers="+megabytes(memory/5, 32*mega, 8*giga), "effective_cache_size="+megabytes(memory/2, 64*mega, 256*giga),
		"maintenance_work_mem="+megabytes(memory/16, 16*mega, giga), "work_mem="+megabytes(memory/256, 2*mega, 64*mega))
}

// megabytes returns a size within bounds as a setting has it.
func megabytes(bytes, least, most uint64) string {
	return strconv.FormatUint(min(max(bytes, least), most)/mega, 10) + "MB"
}
