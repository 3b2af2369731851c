/** Use cases for connector inclusions: which connectors an organization's license includes. Set by the operator. */
import { Context, Effect, Layer, Option } from "effect"
import { Operator } from "../../kernel/contract/Caller.ts"
import { requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { ValidationFailed } from "../../kernel/contract/Problem.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Organizations } from "../organizations/Service.ts"
import { SetConnectorInclusion } from "./Model.ts"
import type { ConnectorInclusion } from "./Model.ts"
import { ConnectorRegistry } from "./ConnectorRegistry.ts"
import { ConnectorsRepo } from "./Repo.ts"
import { includedByDefault } from "./Rules.ts"
import type { OrganizationNotFound } from "../organizations/Errors.ts"

/** Manages which connectors licenses include. Only the operator has access. */
export class ConnectorInclusions extends Context.Service<
  ConnectorInclusions,
  {
    /** The connectors that the license of an organization includes. */
    readonly get: (organization: string) => Effect.Effect<ConnectorInclusion, OrganizationNotFound>
    /** Replaces the list of included connectors. Every name must be registered or be in the list already. */
    readonly put: (
      organization: string,
      input: SetConnectorInclusion,
    ) => Effect.Effect<ConnectorInclusion, ValidationFailed | OrganizationNotFound, Operator>
  }
>()("keyshelf/connectors/ConnectorInclusions") {
  static readonly layer = Layer.suspend(() => Layer.effect(ConnectorInclusions, make))
}

const make = Effect.gen(function* () {
  const repo = yield* ConnectorsRepo
  const registry = yield* ConnectorRegistry
  const organizations = yield* Organizations
  const transactions = yield* Transactions

  const find = (organizationId: OrganizationId) =>
    Effect.map(
      repo.findInclusion(organizationId),
      Option.getOrElse((): ConnectorInclusion => ({
        organizationId,
        connectors: includedByDefault,
        updatedAt: null,
        updatedBy: null,
      })),
    )

  const get = Effect.fn("ConnectorInclusions.get")(function* (organization: string) {
    const { id } = yield* organizations.get(organization)
    return yield* find(id)
  })

  const put = Effect.fn("ConnectorInclusions.put")(function* (organization: string, input: SetConnectorInclusion) {
    const { actor } = yield* Operator
    const { id } = yield* organizations.get(organization)
    return yield* transactions.run(
      Effect.gen(function* () {
        yield* repo.lockInclusion(id, "change")
        yield* requireUnchanged(SetConnectorInclusion, yield* find(id), input)
        const registered = (yield* registry.all).map(({ name }) => name)
        // A removed connector may remain in the list, so that a list that was read can be sent back.
        const known = new Set(["*", ...registered, ...(yield* find(id)).connectors])
        const errors = input.connectors.flatMap((name, index) =>
          known.has(name)
            ? []
            : [
                {
                  location: `body.connectors[${index}]`,
                  message: "must be the name of a registered connector",
                  value: name,
                },
              ],
        )
        if (errors.length > 0) {
          return yield* new ValidationFailed({
            detail:
              "A license can include only registered connectors. Register them first, or remove them from the list.",
            errors,
          })
        }
        const row = { connectors: [...new Set(input.connectors)], updatedAt: yield* now, updatedBy: actor }
        yield* repo.putInclusion(id, row)
        return { organizationId: id, ...row } satisfies ConnectorInclusion
      }),
    )
  })

  return { get, put }
})
