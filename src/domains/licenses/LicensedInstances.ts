/** The port by which licenses read the instances that have them. The domain `instances` provides it. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** Instances of a license that end after an instant. */
interface LateEnd {
  readonly licenseId: string
  readonly after: Date
}

/** Reads the instances of a license. */
export class LicensedInstances extends Context.Service<
  LicensedInstances,
  {
    /** Whether an instance without days of grace of its own ends after an instant. */
    readonly hasLateEnd: (organizationId: OrganizationId, end: LateEnd) => Effect.Effect<boolean>
  }
>()("keyshelf/licenses/LicensedInstances") {}
