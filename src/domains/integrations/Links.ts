/** Creates customers and instances together with their integration records. */
import { Effect, Layer, Option } from "effect"
import { Connectors } from "../connectors/Service.ts"
import { CreateIntegrationExternalIdTaken } from "../customers/Errors.ts"
import { IntegrationLinks } from "../customers/IntegrationLinks.ts"
import type { Link } from "../customers/IntegrationLinks.ts"
import type { WriteIntegration } from "../customers/Model.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { invalid } from "../../kernel/contract/Problem.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import type { IntegrationKind } from "./Model.ts"
import { IntegrationsRepo } from "./Repo.ts"
import { externalIdTaken, newRecord, writeRecord } from "./Rules.ts"

type NamedInputs = ReadonlyArray<readonly [connector: string, input: WriteIntegration]>

const make = Effect.gen(function* () {
  const repo = yield* IntegrationsRepo
  const connectors = yield* Connectors
  const transactions = yield* Transactions

  const requireActive = (organizationId: OrganizationId, connector: string) =>
    Effect.catchTag(connectors.requireActive(organizationId, connector), "Connector.NotFound", () =>
      Effect.fail(invalid(`body.integrations.${connector}`, "must be the name of a registered connector")),
    )

  /** Locks the external ids before anything else is locked, in one order, so that creations cannot deadlock. */
  const reserve = Effect.fnUntraced(function* (
    { organizationId }: Caller["Service"],
    kind: IntegrationKind,
    records: NamedInputs,
  ) {
    for (const [connector, { external_id: externalId }] of records) {
      yield* requireActive(organizationId, connector)
      const key = { kind, connector, externalId }
      yield* repo.lockExternalId(organizationId, key)
      if (Option.isSome(yield* repo.findResource(organizationId, key))) {
        return yield* new CreateIntegrationExternalIdTaken(externalIdTaken(key))
      }
    }
  })

  const linkTo =
    ({ actor, organizationId }: Caller["Service"], kind: IntegrationKind, records: NamedInputs): Link =>
    (resource) =>
      Effect.gen(function* () {
        for (const [connector, input] of records) {
          yield* repo.save(
            organizationId,
            { kind, resourceId: resource.id, connector },
            writeRecord(newRecord(input.external_id), input),
            { id: yield* newId, at: yield* now, actor },
          )
        }
      })

  return IntegrationLinks.of({
    creating: (kind, integrations, create) => {
      const records: NamedInputs = Object.entries(integrations ?? {}).sort(([left], [right]) => (left < right ? -1 : 1))
      return records.length === 0
        ? create(undefined)
        : Effect.flatMap(Caller, (caller) =>
            transactions.run(Effect.andThen(reserve(caller, kind, records), create(linkTo(caller, kind, records)))),
          )
    },
  })
})

/** Provides the port of the domain `customers`. */
export const layer = Layer.effect(IntegrationLinks, make)
