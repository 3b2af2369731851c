/** Use cases of integration records, for customers and for instances. */
import { Context, Effect, Layer, Option } from "effect"
import { Connectors } from "../connectors/Service.ts"
import { CreateIntegrationExternalIdTaken } from "../customers/Errors.ts"
import type { CustomerNotFound } from "../customers/Errors.ts"
import type { IntegrationRecord, Integrations, WriteIntegration } from "../customers/Model.ts"
import { Customers } from "../customers/Service.ts"
import { Instances } from "../instances/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import type { Transaction } from "../../kernel/database/Transactions.ts"
import {
  CreateIntegrationAlreadyExists,
  IntegrationRecordNotFound,
  UpdateIntegrationExternalIdTaken,
} from "./Errors.ts"
import type { IntegrationKind, NamedIntegrationRecord } from "./Model.ts"
import { IntegrationsRepo } from "./Repo.ts"
import { externalIdTaken as taken, newRecord, writeRecord } from "./Rules.ts"
import type { InvalidCursor } from "../../kernel/contract/Problem.ts"
import type { ConnectorNotActive, ConnectorNotFound } from "../connectors/Errors.ts"
import type { InstanceNotFound } from "../instances/Errors.ts"

/** The customer or instance that records belong to. */
interface Owner {
  readonly id: string
  readonly integrations: Integrations
}

/** Access to the customers or the instances of the caller's organization. */
interface Owners<E> {
  readonly get: (slug: string) => Effect.Effect<Owner, E, Caller>
  readonly attach: <E2>(
    slug: string,
    withinTransaction: (owner: Owner) => Effect.Effect<void, E2, Transaction>,
  ) => Effect.Effect<Owner, E | E2, Caller>
}

const noRecord = (slug: string, name: string) =>
  new IntegrationRecordNotFound({ detail: `"${slug}" has no integration record for "${name}".` })

const recordOf = (owner: Owner, slug: string, name: string) => {
  const record = owner.integrations[name]
  return record === undefined ? Effect.fail(noRecord(slug, name)) : Effect.succeed(record)
}

/** What a record needs: a connector that is active for the organization. */
type Inactive = ConnectorNotActive | ConnectorNotFound

/** The records of owners, which their slugs identify. A record has the name of its connector. */
interface OwnRecords<NotFound> {
  /** A page of the records of an owner, newest first. */
  readonly list: (
    slug: string,
    request: PageRequest,
  ) => Effect.Effect<Page<NamedIntegrationRecord>, InvalidCursor | NotFound, Caller>
  /** The record for a connector. */
  readonly get: (
    slug: string,
    name: string,
  ) => Effect.Effect<IntegrationRecord, NotFound | IntegrationRecordNotFound, Caller>
  /** Creates the record for a connector. No other owner may have its external id. */
  readonly create: (
    slug: string,
    name: string,
    input: WriteIntegration,
  ) => Effect.Effect<
    IntegrationRecord,
    NotFound | Inactive | CreateIntegrationAlreadyExists | CreateIntegrationExternalIdTaken,
    Caller
  >
  /** Creates the record for a connector, or replaces it. No other owner may have its external id. */
  readonly put: (
    slug: string,
    name: string,
    input: WriteIntegration,
  ) => Effect.Effect<IntegrationRecord, NotFound | Inactive | UpdateIntegrationExternalIdTaken, Caller>
  /** Deletes the record for a connector, also for one that is not active. */
  readonly delete: (slug: string, name: string) => Effect.Effect<void, NotFound | IntegrationRecordNotFound, Caller>
}

/** Manages integration records of the caller's organization. */
export class IntegrationRecords extends Context.Service<
  IntegrationRecords,
  {
    /** The records of customers. */
    readonly ofCustomers: OwnRecords<CustomerNotFound>
    /** The records of instances. */
    readonly ofInstances: OwnRecords<InstanceNotFound>
  }
>()("keyshelf/integrations/IntegrationRecords") {
  static readonly layer = Layer.suspend(() => Layer.effect(IntegrationRecords, make))
}

/** Writes records under the locks of their external ids and of their owners. */
const recordWriting = Effect.gen(function* () {
  const repo = yield* IntegrationsRepo
  const connectors = yield* Connectors
  const transactions = yield* Transactions

  /** Writes the record that `decide` returns. */
  return Effect.fnUntraced(function* <E, E2>(
    kind: IntegrationKind,
    owners: Owners<E>,
    slug: string,
    connector: string,
    externalId: string,
    decide: (current: Option.Option<IntegrationRecord>, isTaken: boolean) => Effect.Effect<IntegrationRecord, E2>,
  ) {
    const { actor, organizationId } = yield* Caller
    const writing = { id: yield* newId, at: yield* now, actor }
    const external = { kind, connector, externalId }
    return yield* transactions.run(
      Effect.andThen(
        repo.lockExternalId(organizationId, external),
        owners.attach(
          slug,
          Effect.fnUntraced(function* (owner) {
            yield* connectors.requireActive(organizationId, connector)
            const key = { kind, resourceId: owner.id, connector }
            const holder = yield* repo.findResource(organizationId, external)
            const record = yield* decide(
              yield* repo.find(organizationId, key),
              Option.isSome(holder) && holder.value !== owner.id,
            )
            yield* repo.save(organizationId, key, record, writing)
          }),
        ),
      ),
    )
  })
})

/** Changes of records. */
const recordChanges = Effect.gen(function* () {
  const repo = yield* IntegrationsRepo
  const write = yield* recordWriting

  return <E>(kind: IntegrationKind, owners: Owners<E>) => {
    const create = Effect.fn("IntegrationRecords.create")(function* (
      slug: string,
      name: string,
      input: WriteIntegration,
    ) {
      const externalId = input.external_id
      const owner = yield* write(
        kind,
        owners,
        slug,
        name,
        externalId,
        Effect.fnUntraced(function* (current, isTaken) {
          if (Option.isSome(current)) {
            return yield* new CreateIntegrationAlreadyExists({
              detail: `"${slug}" already has an integration record for "${name}". Change it with PUT.`,
            })
          }
          if (isTaken) {
            return yield* new CreateIntegrationExternalIdTaken(taken({ kind, connector: name, externalId }))
          }
          return writeRecord(newRecord(externalId), input)
        }),
      )
      return yield* Effect.orDie(recordOf(owner, slug, name))
    })

    const put = Effect.fn("IntegrationRecords.put")(function* (slug: string, name: string, input: WriteIntegration) {
      const externalId = input.external_id
      const owner = yield* write(
        kind,
        owners,
        slug,
        name,
        externalId,
        Effect.fnUntraced(function* (current, isTaken) {
          if (isTaken) {
            return yield* new UpdateIntegrationExternalIdTaken(taken({ kind, connector: name, externalId }))
          }
          return writeRecord(
            Option.getOrElse(current, () => newRecord(externalId)),
            input,
          )
        }),
      )
      return yield* Effect.orDie(recordOf(owner, slug, name))
    })

    const remove = Effect.fn("IntegrationRecords.delete")(function* (slug: string, name: string) {
      const { organizationId } = yield* Caller
      yield* owners.attach(
        slug,
        Effect.fnUntraced(function* (owner) {
          const key = { kind, resourceId: owner.id, connector: name }
          if (!(yield* repo.delete(organizationId, key))) return yield* noRecord(slug, name)
        }),
      )
    })

    return { create, put, delete: remove }
  }
})

const make = Effect.gen(function* () {
  const repo = yield* IntegrationsRepo
  const customers = yield* Customers
  const instances = yield* Instances
  const cursors = yield* Cursors
  const changesOf = yield* recordChanges

  const recordsOf = <E>(kind: IntegrationKind, owners: Owners<E>): OwnRecords<E> => {
    const list = Effect.fn("IntegrationRecords.list")(function* (slug: string, request: PageRequest) {
      const { organizationId } = yield* Caller
      const { id: resourceId } = yield* owners.get(slug)
      const page = yield* cursors.page(
        { name: "integrations", organizationId, filters: { kind, resourceId } },
        request,
        (after, count) => repo.list(organizationId, { kind, resourceId }, after, count),
        byId,
      )
      return { ...page, items: page.items.map(({ id: _, ...record }) => record) }
    })

    const get = Effect.fnUntraced(function* (slug: string, name: string) {
      return yield* recordOf(yield* owners.get(slug), slug, name)
    })

    return { list, get, ...changesOf(kind, owners) }
  }

  return { ofCustomers: recordsOf("CUSTOMER", customers), ofInstances: recordsOf("INSTANCE", instances) }
})
