/** All tables with rows of organizations, in the order in which they can be deleted. */
import { inOrder } from "../../kernel/database/RemovedOrganizations.ts"
import { removal as access } from "../access/tokens/Removal.ts"
import { removal as components } from "../components/Removal.ts"
import { removal as connectors } from "../connectors/Removal.ts"
import { removal as customers } from "../customers/Removal.ts"
import { removal as entitlements } from "../entitlements/Removal.ts"
import { removal as audit } from "../audit/Removal.ts"
import { removal as events } from "../events/Removal.ts"
import { removal as flags } from "../flags/Removal.ts"
import { removal as groups } from "../groups/Removal.ts"
import { removal as idempotency } from "../idempotency/Removal.ts"
import { removal as instances } from "../instances/Removal.ts"
import { removal as integrations } from "../integrations/Removal.ts"
import { removal as licenses } from "../licenses/Removal.ts"
import { removal as metadata } from "../metadata/Removal.ts"
import { removal as migrations } from "../migrations/Removal.ts"
import { removal as offline } from "../offline/Removal.ts"
import { removal as people } from "../people/Removal.ts"
import { removal as releases } from "../releases/Removal.ts"
import { removal as signing } from "../signing/Removal.ts"
import { removal as usage } from "../usage/Removal.ts"
import { removal as webhooks } from "../webhooks/Removal.ts"
import { removal as zones } from "../zones/Removal.ts"

/**
 * The rows of an organization in all tables. Stored responses first, because they are found by credentials. Otherwise against the
 * order of the domains, so that no row is deleted before those that refer to it. Deletions emit no events, so the stream
 * goes last.
 */
export const removalOrder = inOrder(
  idempotency,
  access,
  audit,
  webhooks,
  offline,
  flags,
  migrations,
  usage,
  integrations,
  instances,
  customers,
  licenses,
  groups,
  entitlements,
  zones,
  releases,
  components,
  connectors,
  metadata,
  signing,
  people,
  events,
)
