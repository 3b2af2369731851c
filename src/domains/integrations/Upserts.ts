/**
 * Upserts by external id: a third-party system creates and changes customers and instances by its own identifiers
 * (interface specification, section 4; contract, section 5).
 */
import { Context, Effect, Layer, Option, Schema } from "effect"
import { Connectors } from "../connectors/Service.ts"
import type { IntegrationRecord, Integrations } from "../customers/Model.ts"
import { Customers } from "../customers/Service.ts"
import type { Instance } from "../instances/Model.ts"
import { Instances } from "../instances/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { invalid, failWithErrors } from "../../kernel/contract/Problem.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import {
  IntegrationRecordNotFound,
  UpsertCustomerSlugTaken,
  UpsertInstanceLicenseArchived,
  UpsertInstanceSlugTaken,
} from "./Errors.ts"
import { connectorOf } from "./Model.ts"
import type { ExternalKey, UpsertCustomer, UpsertInstance, UpsertRecord } from "./Model.ts"
import { IntegrationsRepo } from "./Repo.ts"
import {
  creationErrors,
  customerResult,
  newRecord,
  instanceResult,
  recordErrors,
  slugErrors,
  applyUpsert,
} from "./Rules.ts"
import type { ValidationFailed } from "../../kernel/contract/Problem.ts"
import type { ConnectorNotActive, ConnectorNotFound } from "../connectors/Errors.ts"
import type { CustomerUpsertResult, InstanceUpsertResult } from "./Model.ts"

/** The external id moved to another resource during the wait for the lock. The upsert retries. */
class Moved extends Schema.TaggedError<Moved>()("Moved", {}) {}

const recordIn = ({ integrations }: { readonly integrations: Integrations }, { connector }: ExternalKey) =>
  Option.getOrThrow(Option.fromNullishOr(integrations[connector]))

/** Upserts customers and instances of the caller's organization by external id. */
export class IntegrationUpserts extends Context.Service<
  IntegrationUpserts,
  {
    /** ??? */
    readonly customer: (
      adapter: string,
      externalId: string,
      input: UpsertCustomer,
    ) => Effect.Effect<
      CustomerUpsertResult,
      ValidationFailed | ConnectorNotActive | ConnectorNotFound | UpsertCustomerSlugTaken,
      Caller
    >
    /** ??? */
    readonly instance: (
      adapter: string,
      externalId: string,
      input: UpsertInstance,
    ) => Effect.Effect<
      InstanceUpsertResult,
      | ValidationFailed
      | ConnectorNotActive
      | ConnectorNotFound
      | UpsertInstanceSlugTaken
      | UpsertInstanceLicenseArchived,
      Caller
    >
    /** ??? */
    readonly getCustomer: (
      adapter: string,
      externalId: string,
    ) => Effect.Effect<CustomerUpsertResult, IntegrationRecordNotFound, Caller>
    /** ??? */
    readonly getInstance: (
      adapter: string,
      externalId: string,
    ) => Effect.Effect<InstanceUpsertResult, IntegrationRecordNotFound, Caller>
  }
>()("keyshelf/integrations/IntegrationUpserts") {
  static readonly layer = Layer.effect(
    IntegrationUpserts,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const repo = yield* IntegrationsRepo
  const connectors = yield* Connectors
  const customers = yield* Customers
  const instances = yield* Instances
  const transactions = yield* Transactions

  /** Serializes the upserts of one external id, so that concurrent ones create one resource. */
  const serialize = <A, E, R>(organizationId: string, key: ExternalKey, upsert: Effect.Effect<A, E, R>) =>
    transactions.run(
      Effect.gen(function* () {
        yield* connectors.requireActive(organizationId, key.connector)
        yield* repo.lockExternalId(organizationId, key)
        return yield* upsert
      }),
    )

  /** Stores the record of a locked resource. If `isKnown`, the resource must still have the external id. */
  const store = Effect.fnUntraced(function* (
    { actor, organizationId }: Caller["Service"],
    external: ExternalKey,
    resource: { readonly id: string; readonly slug: string },
    input: UpsertRecord & { readonly slug?: string },
    isKnown: boolean,
  ) {
    const key = { kind: external.kind, resourceId: resource.id, connector: external.connector }
    const current: Option.Option<IntegrationRecord> = isKnown ? yield* repo.find(organizationId, key) : Option.none()
    if (isKnown && (Option.isNone(current) || current.value.external_id !== external.externalId)) {
      return yield* new Moved()
    }
    const at = yield* now
    const record = applyUpsert(
      Option.getOrElse(current, () => newRecord(external.externalId)),
      input,
      at,
    )
    yield* failWithErrors([...slugErrors(resource.slug, input.slug), ...recordErrors(record)])
    yield* repo.save(organizationId, key, record, { id: yield* newId, at, actor })
  })

  const customer = Effect.fn("IntegrationUpserts.customer")(function* (
    adapter: string,
    externalId: string,
    input: UpsertCustomer,
  ) {
    const caller = yield* Caller
    const { organizationId } = caller
    const key: ExternalKey = { kind: "CUSTOMER", connector: connectorOf(adapter), externalId }
    const { error: ___, integrationMetadata: _, slug, webUrl: __, ...properties } = input
    const upsert = Effect.gen(function* () {
      const holder = yield* repo.findResource(organizationId, key)
      return Option.isSome(holder)
        ? yield* customers.change({ customerId: holder.value }, properties, (known) =>
            store(caller, key, known, input, true),
          )
        : yield* customers.create(
            { name: externalId, ...properties, ...(slug === undefined ? {} : { slug }) },
            (created) => store(caller, key, created, input, false),
          )
    }).pipe(
      Effect.retry({ times: 5, while: ({ _tag }) => _tag === "Moved" || _tag === "Customer.NotFound" }),
      Effect.catchTags({
        "CreateCustomer.SlugTaken": ({ detail }) => Effect.fail(new UpsertCustomerSlugTaken({ detail })),
        // The input has no `externalCustomerId`, and an external id that moves six times in one transaction is a bug.
        "CreateCustomer.ExternalIdTaken": Effect.die,
        "UpdateCustomer.ExternalIdTaken": Effect.die,
        "Customer.NotFound": Effect.die,
        Moved: Effect.die,
      }),
    )
    const record = yield* serialize(organizationId, key, upsert)
    return customerResult(record, recordIn(record, key))
  })

  /** The id of the customer with this external id, which cannot be deleted before the transaction ends. */
  const customerIdOf = Effect.fnUntraced(function* (organizationId: string, connector: string, externalId: string) {
    const holder = yield* repo.findResource(organizationId, { kind: "CUSTOMER", connector, externalId })
    const customer = Option.isSome(holder)
      ? yield* customers.keep(organizationId, { customerId: holder.value })
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
    organizationId: string,
    { customerId }: Instance,
    connector: string,
  ) {
    const current = yield* repo.find(organizationId, { kind: "CUSTOMER", resourceId: customerId, connector })
    if (Option.isSome(current)) {
      return yield* invalid("body.customerExternalId", "must be the external id of a customer or be omitted", null)
    }
  })

  const resultOf = (organizationId: string, record: Instance, key: ExternalKey) =>
    Effect.map(
      repo.find(organizationId, { kind: "CUSTOMER", resourceId: record.customerId, connector: key.connector }),
      (ofCustomer) =>
        instanceResult(
          record,
          recordIn(record, key),
          Option.match(ofCustomer, { onNone: () => null, onSome: ({ external_id }) => external_id }),
        ),
    )

  /** The resource with an external id, and the key of its record. */
  const holding = Effect.fnUntraced(function* <A extends { readonly integrations: Integrations }>(
    key: ExternalKey,
    find: (organizationId: string, id: string) => Effect.Effect<Option.Option<A>>,
  ) {
    const { organizationId } = yield* Caller
    const holder = yield* repo.findResource(organizationId, key)
    const found = Option.isSome(holder) ? yield* find(organizationId, holder.value) : Option.none<A>()
    // The external id can move to another resource between both reads.
    if (Option.isNone(found) || found.value.integrations[key.connector]?.external_id !== key.externalId) {
      return yield* new IntegrationRecordNotFound({
        detail: `No ${key.kind.toLowerCase()} has the external id "${key.externalId}" in ${key.connector}.`,
      })
    }
    return found.value
  })

  const getCustomer = Effect.fn("IntegrationUpserts.getCustomer")(function* (adapter: string, externalId: string) {
    const key: ExternalKey = { kind: "CUSTOMER", connector: connectorOf(adapter), externalId }
    const customer = yield* holding(key, customers.find)
    return customerResult(customer, recordIn(customer, key))
  })

  const getInstance = Effect.fn("IntegrationUpserts.getInstance")(function* (adapter: string, externalId: string) {
    const { organizationId } = yield* Caller
    const key: ExternalKey = { kind: "INSTANCE", connector: connectorOf(adapter), externalId }
    return yield* resultOf(organizationId, yield* holding(key, instances.find), key)
  })

  const instance = Effect.fn("IntegrationUpserts.instance")(function* (
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

  return { customer, instance, getCustomer, getInstance }
})
