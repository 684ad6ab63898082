package embedded

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMemoryOfGroups: the lowest limit of a group and its parents applies, in both versions of control groups.
func TestMemoryOfGroups(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
	}
	write("system.slice/memory.max", "536870912")
	write("system.slice/rail.service/memory.max", "max")
	write("memory/docker/abc/memory.limit_in_bytes", "268435456")
	write("memory/memory.limit_in_bytes", "9223372036854771712")
	for groups, want := range map[string]uint64{
		"0::/system.slice/rail.service\n":            512 * mega,
		"0::/user.slice\n":                           16 * giga,
		"12:cpu:/docker/abc\n5:memory:/docker/abc\n": 256 * mega,
		"": 16 * giga,
	} {
		require.Equal(t, want, limited(16*giga, root, groups), groups)
	}
	write("memory.max", "134217728") // a container's own group is mounted as the root
	require.EqualValues(t, 128*mega, limited(16*giga, root, "0::/\n"))
	require.Positive(t, Memory())
}
