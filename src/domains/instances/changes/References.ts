/** What the body of an instance names: the customer, the license version and the deployment zone. */
import { Effect, Option } from "effect"
import { Customers } from "../../customers/Service.ts"
import { invalid } from "../../../kernel/contract/Problem.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { isAddOn } from "../../licenses/Model.ts"
import { Licenses } from "../../licenses/Service.ts"
import { licenseArchived } from "../Errors.ts"
import { InstancesRepo } from "../Repo.ts"
import type { Reference } from "../Rules.ts"

const NO_ADD_ON = "must not be an add-on: an instance has add-ons beside its license"

const unknownName = (kind: string, { property, value }: Reference) =>
  invalid(`body.${property}`, `must be the ${property.endsWith("Id") ? "id" : "slug"} of an existing ${kind}`, value)

/** Resolves the names in a body to rows that cannot be deleted before the transaction ends. */
export const references = Effect.gen(function* () {
  const repo = yield* InstancesRepo
  const customers = yield* Customers
  const licenses = yield* Licenses

  /** The named customer. */
  const customerOf = Effect.fnUntraced(function* (organizationId: OrganizationId, naming: Reference) {
    const customer = yield* customers.lockShared(organizationId, { [naming.property]: naming.value })
    return Option.isSome(customer)
      ? { customerId: customer.value.id, customerSlug: customer.value.slug, customerName: customer.value.name }
      : yield* unknownName("customer", naming)
  })

  /**
   * The named license version. A newly assigned version must not be archived, and is locked: it cannot be archived or
   * deleted before the transaction ends.
   */
  const licenseOf = Effect.fnUntraced(function* <E>(
    organizationId: OrganizationId,
    naming: Reference,
    options: { readonly assigned: string | null; readonly whenArchived: (problem: { readonly detail: string }) => E },
  ) {
    const kind = naming.property === "licenseFamilySlug" ? "license family with a published version" : "license"
    const named = yield* licenses.resolve(organizationId, { [naming.property]: naming.value })
    if (Option.isNone(named)) return yield* unknownName(kind, naming)
    const chosen = { licenseId: named.value.id, licenseSlug: named.value.slug, licenseName: named.value.name }
    if (named.value.id === options.assigned) return chosen
    if (isAddOn(named.value)) return yield* invalid(`body.${naming.property}`, NO_ADD_ON, naming.value)
    const license = yield* licenses.lock(organizationId, named.value.id)
    if (Option.isNone(license)) return yield* unknownName(kind, naming)
    if (license.value.lifecycleState === "ARCHIVED") {
      return yield* Effect.fail(options.whenArchived(licenseArchived(license.value.slug)))
    }
    return chosen
  })

  /** The named deployment zone, if an instance has one. */
  const zoneOf = Effect.fnUntraced(function* (organizationId: OrganizationId, id: string | null) {
    if (id === null) return { deploymentZoneId: null, deploymentZoneSlug: null, deploymentZoneName: null }
    const zone = yield* repo.lockZoneShared(organizationId, id)
    return Option.isSome(zone)
      ? zone.value
      : yield* invalid("body.deploymentZoneId", "must be the id of an existing deployment zone", id)
  })

  return { customerOf, licenseOf, zoneOf }
})
