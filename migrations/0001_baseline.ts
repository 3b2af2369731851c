/** The schema of the first published version: all tables, in the order of their domains. */
import { access } from "./baseline/access.ts"
import { audit } from "./baseline/audit.ts"
import { components } from "./baseline/components.ts"
import { connectors } from "./baseline/connectors.ts"
import { customers } from "./baseline/customers.ts"
import { entitlements } from "./baseline/entitlements.ts"
import { events } from "./baseline/events.ts"
import { flags } from "./baseline/flags.ts"
import { groups } from "./baseline/groups.ts"
import { idempotency } from "./baseline/idempotency.ts"
import { instances } from "./baseline/instances.ts"
import { integrations } from "./baseline/integrations.ts"
import { licensemoves } from "./baseline/licensemoves.ts"
import { licenses } from "./baseline/licenses.ts"
import { maintenance } from "./baseline/maintenance.ts"
import { metadata } from "./baseline/metadata.ts"
import { offline } from "./baseline/offline.ts"
import { organizations } from "./baseline/organizations.ts"
import { people } from "./baseline/people.ts"
import { releases } from "./baseline/releases.ts"
import { signing } from "./baseline/signing.ts"
import { usage } from "./baseline/usage.ts"
import { webhooks } from "./baseline/webhooks.ts"
import { zones } from "./baseline/zones.ts"
import { statements } from "./statements.ts"

export default statements(
  ...organizations,
  ...people,
  ...events,
  ...audit,
  ...signing,
  ...metadata,
  ...connectors,
  ...components,
  ...releases,
  ...zones,
  ...entitlements,
  ...groups,
  ...licenses,
  ...customers,
  ...access,
  ...instances,
  ...integrations,
  ...usage,
  ...licensemoves,
  ...flags,
  ...offline,
  ...webhooks,
  ...idempotency,
  ...maintenance,
)
