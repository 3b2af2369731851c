/** Creates or changes the instance with an external id. */
import { Effect, Option } from "effect"
import { Customers } from "../customers/Service.ts"
import type { Instance } from "../instances/Model.ts"
import { Instances } from "../instances/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { invalid, failWithErrors } from "../../kernel/contract/Problem.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { UpsertInstanceLicenseArchived, UpsertInstanceSlugTaken } from "./Errors.ts"
import { connectorOf } from "./Model.ts"
import type { ExternalKey, UpsertInstance } from "./Model.ts"
import { IntegrationsRepo } from "./Repo.ts"
import { creationErrors, instanceResult } from "./Rules.ts"
import { recordIn, upsertStore } from "./UpsertStore.ts"

/** The customer of an instance, by its external id in the adapter. */
const customerReferences = Effect.gen(function* () {
  const repo = yield* IntegrationsRepo
  const customers = yield* Customers

  /** The id of the customer with this external id, which cannot be deleted before the transaction ends. */
  const customerIdOf = Effect.fnUntraced(function* (
    organizationId: OrganizationId,
    connector: string,
    externalId: string,
  ) {
    const holder = yield* repo.findResource(organizationId, { kind: "CUSTOMER", connector, externalId })
    const customer = Option.isSome(holder)
      ? yield* customers.lockShared(organizationId, { customerId: holder.value })
      : Option.none()
    return Option.isSome(customer)
      ? customer.value.id
      : yield* invalid(
          "body.customerExternalId",
          "must be the external id of an existing customer in this adapter",
          externalId,
        )
  })

  /** A result that says `null` can be sent back: the customer of the instance has no record in the adapter. */
  const requireNoExternalId = Effect.fnUntraced(function* (
    organizationId: OrganizationId,
    { customerId }: Instance,
    connector: string,
  ) {
    const current = yield* repo.find(organizationId, { kind: "CUSTOMER", resourceId: customerId, connector })
    if (Option.isSome(current)) {
      return yield* invalid("body.customerExternalId", "must be the external id of a customer or be omitted", null)
    }
  })

  return { customerIdOf, requireNoExternalId }
})

/** The result of an upsert: the instance, its record, and the external id of its customer. */
export const instanceResults = Effect.gen(function* () {
  const repo = yield* IntegrationsRepo
  return (organizationId: OrganizationId, record: Instance, key: ExternalKey) =>
    Effect.map(
      repo.find(organizationId, { kind: "CUSTOMER", resourceId: record.customerId, connector: key.connector }),
      (ofCustomer) =>
        instanceResult(
          record,
          recordIn(record, key),
          Option.match(ofCustomer, { onNone: () => null, onSome: ({ external_id }) => external_id }),
        ),
    )
})

/** Upserts an instance, with the record in its adapter. */
export const instanceUpsert = Effect.gen(function* () {
  const repo = yield* IntegrationsRepo
  const instances = yield* Instances
  const { customerIdOf, requireNoExternalId } = yield* customerReferences
  const resultOf = yield* instanceResults
  const { serialize, store } = yield* upsertStore

  return Effect.fn("IntegrationUpserts.instance")(function* (
    adapter: string,
    externalId: string,
    input: UpsertInstance,
  ) {
    const caller = yield* Caller
    const { organizationId } = caller
    const connector = connectorOf(adapter)
    const key: ExternalKey = { kind: "INSTANCE", connector, externalId }
    const { customerExternalId, error: ___, integrationMetadata: _, slug, webUrl: __, ...others } = input
    const upsert = Effect.gen(function* () {
      const holder = yield* repo.findResource(organizationId, key)
      if (Option.isNone(holder)) yield* failWithErrors(creationErrors(input))
      const properties =
        customerExternalId === undefined || customerExternalId === null
          ? others
          : { ...others, customerId: yield* customerIdOf(organizationId, connector, customerExternalId) }
      if (Option.isSome(holder)) {
        return yield* instances.change({ instanceId: holder.value }, properties, (known) =>
          Effect.andThen(
            customerExternalId === null ? requireNoExternalId(organizationId, known, connector) : Effect.void,
            store(caller, key, known, input, true),
          ),
        )
      }
      return yield* instances.create(
        {
          name: externalId,
          startLicenseDate: yield* now,
          endLicenseDate: null,
          ...properties,
          ...(slug === undefined ? {} : { slug }),
        },
        (created) => store(caller, key, created, input, false),
      )
    }).pipe(
      Effect.retry({ times: 5, while: ({ _tag }) => _tag === "Moved" || _tag === "Instance.NotFound" }),
      Effect.catchTags({
        "CreateInstance.SlugTaken": ({ detail }) => Effect.fail(new UpsertInstanceSlugTaken({ detail })),
        "CreateInstance.LicenseArchived": ({ detail }) => Effect.fail(new UpsertInstanceLicenseArchived({ detail })),
        "UpdateInstance.LicenseArchived": ({ detail }) => Effect.fail(new UpsertInstanceLicenseArchived({ detail })),
        "Instance.NotFound": Effect.die,
        Moved: Effect.die,
      }),
      Effect.flatMap((record) => resultOf(organizationId, record, key)),
    )
    return yield* serialize(organizationId, key, upsert)
  })
})
