/** Use cases of integration records, for customers and for instances. */
import { Context, Effect, Layer, Option } from "effect"
import { Connectors } from "../connectors/Service.ts"
import { CreateIntegrationExternalIdTaken } from "../customers/Errors.ts"
import type { IntegrationRecord, Integrations, WriteIntegration } from "../customers/Model.ts"
import { Customers } from "../customers/Service.ts"
import { Instances } from "../instances/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { PageRequest } from "../../kernel/contract/Page.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import type { Transaction } from "../../kernel/database/Transactions.ts"
import {
  CreateIntegrationAlreadyExists,
  IntegrationRecordNotFound,
  UpdateIntegrationExternalIdTaken,
} from "./Errors.ts"
import type { IntegrationKind } from "./Model.ts"
import { IntegrationsRepo } from "./Repo.ts"
import { externalIdTaken as taken, newRecord, writeRecord } from "./Rules.ts"
import type { InvalidCursor } from "../../kernel/contract/Problem.ts"
import type { CustomerNotFound } from "../customers/Errors.ts"
import type { ConnectorNotActive, ConnectorNotFound } from "../connectors/Errors.ts"
import type { NamedIntegrationRecord } from "./Model.ts"
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

/** Manages integration records of the caller's organization. */
export class IntegrationRecords extends Context.Service<
  IntegrationRecords,
  {
    /** ??? */
    readonly ofCustomers: {
      readonly list: (
        slug: string,
        request: PageRequest,
      ) => Effect.Effect<
        {
          readonly items: NamedIntegrationRecord[]
          readonly hasMore: boolean
          readonly nextCursor: string
        },
        InvalidCursor | CustomerNotFound,
        Caller
      >
      readonly get: (
        slug: string,
        name: string,
      ) => Effect.Effect<IntegrationRecord, CustomerNotFound | IntegrationRecordNotFound, Caller>
      readonly create: (
        slug: string,
        name: string,
        input: WriteIntegration,
      ) => Effect.Effect<
        IntegrationRecord,
        | ConnectorNotActive
        | CreateIntegrationExternalIdTaken
        | CustomerNotFound
        | ConnectorNotFound
        | CreateIntegrationAlreadyExists,
        Caller
      >
      readonly put: (
        slug: string,
        name: string,
        input: WriteIntegration,
      ) => Effect.Effect<
        IntegrationRecord,
        ConnectorNotActive | CustomerNotFound | ConnectorNotFound | UpdateIntegrationExternalIdTaken,
        Caller
      >
      readonly delete: (
        slug: string,
        name: string,
      ) => Effect.Effect<void, CustomerNotFound | IntegrationRecordNotFound, Caller>
    }
    /** ??? */
    readonly ofInstances: {
      readonly list: (
        slug: string,
        request: PageRequest,
      ) => Effect.Effect<
        {
          readonly items: NamedIntegrationRecord[]
          readonly hasMore: boolean
          readonly nextCursor: string
        },
        InstanceNotFound | InvalidCursor,
        Caller
      >
      readonly get: (
        slug: string,
        name: string,
      ) => Effect.Effect<IntegrationRecord, InstanceNotFound | IntegrationRecordNotFound, Caller>
      readonly create: (
        slug: string,
        name: string,
        input: WriteIntegration,
      ) => Effect.Effect<
        IntegrationRecord,
        | ConnectorNotActive
        | CreateIntegrationExternalIdTaken
        | InstanceNotFound
        | ConnectorNotFound
        | CreateIntegrationAlreadyExists,
        Caller
      >
      readonly put: (
        slug: string,
        name: string,
        input: WriteIntegration,
      ) => Effect.Effect<
        IntegrationRecord,
        ConnectorNotActive | InstanceNotFound | ConnectorNotFound | UpdateIntegrationExternalIdTaken,
        Caller
      >
      readonly delete: (
        slug: string,
        name: string,
      ) => Effect.Effect<void, InstanceNotFound | IntegrationRecordNotFound, Caller>
    }
  }
>()("keyshelf/integrations/IntegrationRecords") {
  static readonly layer = Layer.effect(
    IntegrationRecords,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const repo = yield* IntegrationsRepo
  const connectors = yield* Connectors
  const customers = yield* Customers
  const instances = yield* Instances
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  const recordsOf = <E>(kind: IntegrationKind, owners: Owners<E>) => {
    /** Writes the record that `decide` returns, under the locks of its external id and of its owner. */
    const write = Effect.fnUntraced(function* <E2>(
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

    const create = Effect.fn("IntegrationRecords.create")(function* (
      slug: string,
      name: string,
      input: WriteIntegration,
    ) {
      const externalId = input.external_id
      const owner = yield* write(
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

    return { list, get, create, put, delete: remove }
  }

  return { ofCustomers: recordsOf("CUSTOMER", customers), ofInstances: recordsOf("INSTANCE", instances) }
})
