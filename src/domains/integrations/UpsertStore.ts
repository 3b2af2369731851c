/** How upserts by external id store integration records. */
import { Effect, Option, Schema } from "effect"
import { Connectors } from "../connectors/Service.ts"
import type { IntegrationRecord, Integrations } from "../customers/Model.ts"
import type { Caller } from "../../kernel/contract/Caller.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { failWithErrors } from "../../kernel/contract/Problem.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import type { ExternalKey, UpsertRecord } from "./Model.ts"
import { IntegrationsRepo } from "./Repo.ts"
import { applyUpsert, newRecord, recordErrors, slugErrors } from "./Rules.ts"

/** The external id moved to another resource during the wait for the lock. The upsert retries. */
class Moved extends Schema.TaggedError<Moved>()("Moved", {}) {}

/** The integration record of a resource that has the external id. */
export const recordIn = ({ integrations }: { readonly integrations: Integrations }, { connector }: ExternalKey) =>
  Option.getOrThrow(Option.fromNullishOr(integrations[connector]))

/** Stores the integration records of upserts. */
export const upsertStore = Effect.gen(function* () {
  const repo = yield* IntegrationsRepo
  const connectors = yield* Connectors
  const transactions = yield* Transactions

  /** Serializes the upserts of one external id, so that concurrent ones create one resource. */
  const serialize = <A, E, R>(organizationId: OrganizationId, key: ExternalKey, upsert: Effect.Effect<A, E, R>) =>
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

  return { serialize, store }
})
