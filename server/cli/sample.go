package cli

import (
	"context"

	"github.com/spf13/pflag"

	"rail/server/cli/sample"
)

// sampleOrgHelp is the help of --org.
const sampleOrgHelp = "`ORG_ID` of the sample; may be left out while there is only one"

// sampled is how an organization is printed that has got a sample, or has none any more.
type sampled struct {
	OrganizationID string `json:"organization_id"`
	Sample         bool   `json:"sample"`
}

// sampleLoad adds the sample program to an organization. It fails where there is one.
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

// sampleClear removes the sample program with all that belongs to it, also what was added since.
// Data that is not a sample's is never touched.
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
			return env.print(sampled{id, false}, line("%s has no sample rows any more", id))
		})
	}
}
