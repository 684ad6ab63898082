package verify

import (
	"context"
	"sync"

	"golang.org/x/sync/singleflight"
)

// maxCached bounds the texts of a cache, in bytes.
const maxCached = 32 << 20

// cache has the texts of one version of their sources. Concurrent requests for a text share one reading of it.
type cache struct {
	group   singleflight.Group
	mu      sync.Mutex
	version string
	texts   map[string]string
	size    int
}

// of returns a text of a version, and reads it if it is not cached.
func (c *cache) of(
	ctx context.Context, version, name string, read func(context.Context) (string, error),
) (string, error) {
	c.mu.Lock()
	if c.version != version || c.size > maxCached {
		c.version, c.texts, c.size = version, map[string]string{}, 0
	}
	text, cached := c.texts[name]
	c.mu.Unlock()
	if cached {
		return text, nil
	}
	found, err, _ := c.group.Do(version+"/"+name, func() (any, error) {
		// The other requests do not depend on the reading one.
		ctx, end := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer end()
		text, err := read(ctx)
		if err != nil {
			return "", err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.version == version {
			c.texts[name] = text
			c.size += len(name) + len(text)
		}
		return text, nil
	})
	if err != nil {
		return "", err
	}
	return found.(string), nil //nolint:forcetypeassert // read returns nothing else
}
