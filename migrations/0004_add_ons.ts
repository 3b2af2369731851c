import type { Impact, TableLock } from "./impact.ts"
import { statements, table } from "./statements.ts"

/**
 * Add-ons: license versions that instances buy beside their license. Nodes of the release before neither read nor write the columns, so
 * add-ons are sold only when all nodes run this release.
 */
export default statements(
  `ALTER TABLE licenses DROP CONSTRAINT licenses_type_check`,
  `ALTER TABLE licenses ADD CONSTRAINT licenses_type CHECK (type IN ('COMMUNITY', 'TRIAL', 'DEVELOPMENT', 'PAID', 'ADD_ON'))`,
  // `combine`: how an add-on changes what is granted without it; null: the license is none. A grant of an add-on may state no overage.
  ...["license_entitlements", "past_license_grants"].flatMap((grants) => [
    `ALTER TABLE ${grants} ADD COLUMN combine text`,
    `ALTER TABLE ${grants} ADD CONSTRAINT ${grants}_combine CHECK (combine IN ('ADD', 'MAX', 'SET'))`,
    `ALTER TABLE ${grants} ADD COLUMN overage_stated boolean NOT NULL DEFAULT true`,
  ]),
  // What an instance has agreed beside its license and overrides, so that a check reads it with the instance; null: nothing.
  `ALTER TABLE instances ADD COLUMN extras jsonb`,
  ...table(
    "instance_add_ons",
    "An add-on that an instance has, in force from starts_at until the earlier of ends_at and ended_at. Grows with each add-on and each change of one.",
    `
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    instance_id uuid NOT NULL,
    family_id uuid NOT NULL,
    license_id uuid NOT NULL,
    quantity integer NOT NULL CHECK (quantity > 0),
    starts_at timestamptz NOT NULL,
    ends_at timestamptz CHECK (ends_at > starts_at),
    reason text,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    ended_at timestamptz,
    ended_by jsonb,
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, instance_id) REFERENCES instances (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, family_id) REFERENCES license_families (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, license_id) REFERENCES licenses (organization_id, id) ON DELETE CASCADE
  `,
  ),
  `CREATE INDEX instance_add_ons_family ON instance_add_ons (organization_id, instance_id, family_id, starts_at)`,
  `CREATE INDEX instance_add_ons_instance ON instance_add_ons (organization_id, instance_id, id)`,
  // Those that were neither removed nor replaced: who has an add-on, and what a migration moves.
  `CREATE INDEX instance_add_ons_license ON instance_add_ons (organization_id, license_id, instance_id) WHERE ended_at IS NULL`,
  `CREATE INDEX instance_add_ons_licensed ON instance_add_ons (organization_id, license_id)`,
  `CREATE INDEX instance_add_ons_of_family ON instance_add_ons (organization_id, family_id, instance_id)`,
)

export const impact: Impact = {
  locks: [
    ...["licenses", "license_entitlements", "past_license_grants", "instances"].map((table): TableLock => ({
      table,
      mode: "ACCESS EXCLUSIVE",
    })),
    // The foreign keys of the new table.
    { table: "license_families", mode: "SHARE ROW EXCLUSIVE" },
  ],
  reads: ["licenses", "license_entitlements", "past_license_grants"],
  millisecondsPerMillionRows: 350,
  until: "Sell no add-on: processes of the version before grant what the license alone does.",
}
