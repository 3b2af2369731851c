import type { Impact, TableLock } from "./impact.ts"
import { indexUnlessBuilt, statements, table } from "./statements.ts"
import { wordIndex } from "./0006_search_words.ts"

/**
 * Who may have a release: a policy beside the immutable release, and what its components are pulled as. Nodes of the release before
 * neither read nor write the columns: releases that they create are not offered, and were released when they were created.
 */
export default statements(
  // `released_at`: null if it is `created_at`. `access_updated_at`: null if the policy was never changed.
  `ALTER TABLE releases ADD COLUMN released_at timestamptz, ADD COLUMN offered boolean NOT NULL DEFAULT false,
    ADD COLUMN withdrawn_at timestamptz, ADD COLUMN withdrawn_reason text, ADD COLUMN access_updated_at timestamptz,
    ADD COLUMN access_updated_by jsonb`,
  `CREATE INDEX releases_offered ON releases (organization_id, (coalesce(released_at, created_at)), id) WHERE offered`,
  ...table(
    "release_requirements",
    "An entitlement that a license must grant for a release. Grows by up to 20 rows with each release.",
    `
    organization_id uuid NOT NULL,
    release_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    PRIMARY KEY (organization_id, release_id, entitlement_id),
    FOREIGN KEY (organization_id, release_id) REFERENCES releases (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, entitlement_id) REFERENCES entitlements (organization_id, id)
  `,
  ),
  `CREATE INDEX release_requirements_entitlement ON release_requirements (organization_id, entitlement_id)`,
  ...table(
    "component_images",
    "An image of a component: a repository, and the tag or digest in it. Grows by up to 20 rows with each component.",
    `
    organization_id uuid NOT NULL,
    component_id uuid NOT NULL,
    repository text NOT NULL,
    reference text NOT NULL,
    ordinal integer NOT NULL,
    PRIMARY KEY (organization_id, component_id, repository),
    FOREIGN KEY (organization_id, component_id) REFERENCES components (organization_id, id) ON DELETE CASCADE
  `,
  ),
  `CREATE INDEX component_images_repository ON component_images (organization_id, repository)`,
  `CREATE INDEX components_name ON components (organization_id, name, id)`,
  ...indexUnlessBuilt("components_words", wordIndex("components")),
  ...indexUnlessBuilt("releases_words", wordIndex("releases", "version")),
  `ALTER TABLE instances ADD COLUMN end_maintenance_date timestamptz`,
  `ALTER TABLE deployment_zones ADD COLUMN release_access text NOT NULL DEFAULT 'WARN'`,
  `ALTER TABLE deployment_zones ADD CONSTRAINT deployment_zones_release_access CHECK (release_access IN ('WARN', 'REFUSE'))`,
)

export const impact: Impact = {
  locks: [
    ...["releases", "instances", "deployment_zones"].map((table): TableLock => ({ table, mode: "ACCESS EXCLUSIVE" })),
    // The foreign keys of the new tables, and the index of words.
    ...["entitlements", "components"].map((table): TableLock => ({ table, mode: "SHARE ROW EXCLUSIVE" })),
  ],
  reads: ["releases", "components", "deployment_zones"],
  millisecondsPerMillionRows: 27_000,
  until: "Offer no release: processes of the version before know no policy.",
}
