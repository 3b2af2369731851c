/** Upserts by external id: a third-party system creates and changes customers and instances by its own identifiers. */
import { Context, Effect, Layer, Option } from "effect"
import type { ConnectorNotActive, ConnectorNotFound } from "../connectors/Errors.ts"
import type { Integrations } from "../customers/Model.ts"
import { Customers } from "../customers/Service.ts"
import { Instances } from "../instances/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import type { ValidationFailed } from "../../kernel/contract/Problem.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { customerUpsert } from "./CustomerUpsert.ts"
import { IntegrationRecordNotFound } from "./Errors.ts"
import type { UpsertCustomerSlugTaken, UpsertInstanceLicenseArchived, UpsertInstanceSlugTaken } from "./Errors.ts"
import { instanceResults, instanceUpsert } from "./InstanceUpsert.ts"
import { connectorOf } from "./Model.ts"
import type {
  CustomerUpsertResult,
  ExternalKey,
  InstanceUpsertResult,
  UpsertCustomer,
  UpsertInstance,
} from "./Model.ts"
import { IntegrationsRepo } from "./Repo.ts"
import { customerResult } from "./Rules.ts"
import { recordIn } from "./UpsertStore.ts"

/** Upserts customers and instances of the caller's organization by external id. */
export class IntegrationUpserts extends Context.Service<
  IntegrationUpserts,
  {
    /** Changes the customer with an external id, or creates it. Concurrent upserts of the id create one customer. */
    readonly customer: (
      adapter: string,
      externalId: string,
      input: UpsertCustomer,
    ) => Effect.Effect<
      CustomerUpsertResult,
      ValidationFailed | ConnectorNotActive | ConnectorNotFound | UpsertCustomerSlugTaken,
      Caller
    >
    /** Changes the instance with an external id, or creates it. Concurrent upserts of the id create one instance. */
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
    /** The customer with an external id, with its record in the adapter. */
    readonly getCustomer: (
      adapter: string,
      externalId: string,
    ) => Effect.Effect<CustomerUpsertResult, IntegrationRecordNotFound, Caller>
    /** The instance with an external id, with its record in the adapter. */
    readonly getInstance: (
      adapter: string,
      externalId: string,
    ) => Effect.Effect<InstanceUpsertResult, IntegrationRecordNotFound, Caller>
  }
>()("keyshelf/integrations/IntegrationUpserts") {
  static readonly layer = Layer.suspend(() => Layer.effect(IntegrationUpserts, make))
}

const make = Effect.gen(function* () {
  const repo = yield* IntegrationsRepo
  const customers = yield* Customers
  const instances = yield* Instances
  const resultOf = yield* instanceResults

  /** The resource with an external id, and the key of its record. */
  const holding = Effect.fnUntraced(function* <A extends { readonly integrations: Integrations }>(
    key: ExternalKey,
    find: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<A>>,
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

  return { customer: yield* customerUpsert, instance: yield* instanceUpsert, getCustomer, getInstance }
})
