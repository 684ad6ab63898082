package embedded

import "strconv"

// Limits of settings that depend on the machine's memory. PostgreSQL shares it with Rail and with
// the system's file cache, which it also uses.
const (
	mega = 1 << 20
	giga = 1 << 30
)

// slowStatement is the duration in milliseconds from which a statement is logged; requests end
// theirs after five seconds.
const slowStatement = 1000

// tuned returns the settings of a cluster for a machine with so many bytes of memory, 0 for
// unknown. Large tables are vacuumed earlier than by default, before a fifth of their rows is dead.
// Slow statements are logged without their values, some of which are secret.
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

// megabytes returns a size within bounds in the form of a setting.
func megabytes(bytes, least, most uint64) string {
	return strconv.FormatUint(min(max(bytes, least), most)/mega, 10) + "MB"
}
