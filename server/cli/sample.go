package cli

import (
	"context"

	"github.com/spf13/pflag"

	"rail/server/cli/sample"
)

// sampleOrgHelp is the help of --org.
const sampleOrgHelp = "`ORG_ID` of the sample; may be left out while there is only one"

// sampled is the JSON of an organization after loading or clearing a sample.
type sampled struct {
	OrganizationID string `json:"organization_id"`
	Sample         bool   `json:"sample"`
}

// sampleLoad adds the sample program to an organization. It fails if there is one.
func sampleLoad(fs *pflag.FlagSet) action {
	org := fs.String("org", "", sampleOrgHelp)
	return func(ctx context.Context, env *Env, _ []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			id, err := chooseOrg(ctx, d.pool, *org)
			if err != nil {
				return err
			}
			if err := sample.Load(ctx, d.pool, d.keeper, id, env.Clock.Now()); err != nil {
				return err
			}
			return env.print(sampled{id, true}, line("the sample program is loaded into %s", id))
		})
	}
}

// sampleClear deletes the sample program with all its data, including later additions. It never touches other
// data.
func sampleClear(fs *pflag.FlagSet) action {
	org := fs.String("org", "", sampleOrgHelp)
	return func(ctx context.Context, env *Env, _ []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			id, err := chooseOrg(ctx, d.pool, *org)
			if err != nil {
				// Without a sample program this succeeds as well, so that scripts may always call it.
				return err
			}
			if err := sample.Clear(ctx, d.pool, id); err != nil {
				return err
			}
			return env.print(sampled{id, false}, line("the sample rows of %s are deleted", id))
		})
	}
}
