/** Use cases for an organization's connectors: their states and activations. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { ActivateConnectorNotLicensed, ConnectorNotActive } from "./Errors.ts"
import type { ConnectorNotFound } from "./Errors.ts"
import type { Activation, ConnectorState, SettingsSchema } from "./Model.ts"
import { ConnectorRegistry } from "./ConnectorRegistry.ts"
import { ConnectorsRepo } from "./Repo.ts"
import { includedByDefault, includes, listedAfter } from "./Rules.ts"
import type { InvalidCursor } from "../../kernel/contract/Problem.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** Manages the connectors of the caller's organization. */
export class Connectors extends Context.Service<
  Connectors,
  {
    /** What holds for a connector in the organization. A name that is not registered is not available. */
    readonly state: (name: string) => Effect.Effect<ConnectorState, never, Caller>
    /** A page of the states of all connectors, newest first, built-in ones last. */
    readonly list: (request: PageRequest) => Effect.Effect<Page<ConnectorState>, InvalidCursor, Caller>
    /** Activates a connector that the license includes. An active one stays as it is. */
    readonly activate: (
      name: string,
    ) => Effect.Effect<Activation, ConnectorNotFound | ActivateConnectorNotLicensed, Caller>
    /** Deactivates a connector. Its settings and integration records remain. */
    readonly deactivate: (name: string) => Effect.Effect<void, never, Caller>
    /** The schema that the settings of a connector must match. */
    readonly settingsSchema: (name: string) => Effect.Effect<SettingsSchema, ConnectorNotFound>
    /** Fails if the installation does not have the connector, or if it is not active for the organization. */
    readonly requireActive: (
      organizationId: OrganizationId,
      name: string,
    ) => Effect.Effect<void, ConnectorNotActive | ConnectorNotFound>
  }
>()("keyshelf/connectors/Connectors") {
  static readonly layer = Layer.suspend(() => Layer.effect(Connectors, make))
}

const stateOf = (
  name: string,
  version: string | null,
  included: ReadonlyArray<string>,
  activation: Option.Option<Activation>,
): ConnectorState => ({
  connectorName: name,
  available: version !== null,
  entitled: includes(included, name),
  activated: Option.isSome(activation),
  activatedAt: Option.isSome(activation) ? activation.value.activatedAt : null,
  version,
})

/** The names of the connectors that the license of an organization includes. */
const inclusion = Effect.gen(function* () {
  const repo = yield* ConnectorsRepo
  return (organizationId: OrganizationId) =>
    Effect.map(
      repo.findInclusion(organizationId),
      Option.match({ onNone: () => includedByDefault, onSome: ({ connectors }) => connectors }),
    )
})

/** Activates and deactivates connectors, with the events. */
const activation = Effect.gen(function* () {
  const repo = yield* ConnectorsRepo
  const registry = yield* ConnectorRegistry
  const events = yield* Events
  const transactions = yield* Transactions
  const includedFor = yield* inclusion

  const activate = Effect.fn("Connectors.activate")(function* (name: string) {
    const caller = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        yield* registry.get(name)
        yield* repo.lockInclusion(caller.organizationId, "share")
        if (!includes(yield* includedFor(caller.organizationId), name)) {
          return yield* new ActivateConnectorNotLicensed({
            detail: `The organization's license does not include the connector "${name}". Ask the operator to include it.`,
          })
        }
        const activation: Activation = { activatedAt: yield* now, connectorName: name }
        if (yield* repo.activate(caller.organizationId, activation)) {
          yield* events.emit(caller, "CONNECTOR_ACTIVATED", activation)
          return activation
        }
        return Option.getOrElse(yield* repo.findActivation(caller.organizationId, name), () => activation)
      }),
    )
  })

  const deactivate = Effect.fn("Connectors.deactivate")(function* (name: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const ended = yield* repo.deactivate(caller.organizationId, name)
        if (Option.isSome(ended)) yield* events.emit(caller, "CONNECTOR_DEACTIVATED", ended.value)
      }),
    )
  })

  return { activate, deactivate }
})

const make = Effect.gen(function* () {
  const repo = yield* ConnectorsRepo
  const registry = yield* ConnectorRegistry
  const cursors = yield* Cursors
  const includedFor = yield* inclusion

  const state = Effect.fn("Connectors.state")(function* (name: string) {
    const { organizationId } = yield* Caller
    const connector = yield* registry.find(name)
    return stateOf(
      name,
      Option.isSome(connector) ? connector.value.version : null,
      yield* includedFor(organizationId),
      yield* repo.findActivation(organizationId, name),
    )
  })

  const list = Effect.fn("Connectors.list")(function* (request: PageRequest) {
    const { organizationId } = yield* Caller
    const included = yield* includedFor(organizationId)
    const activations = new Map(
      (yield* repo.activations(organizationId)).map((activation) => [activation.connectorName, activation]),
    )
    const page = yield* cursors.page(
      { name: "connectors", organizationId },
      request,
      (after, count) => Effect.map(registry.all, (all) => listedAfter(all, after, count)),
      ({ id }) => [id],
    )
    return {
      ...page,
      items: page.items.map(({ name, version }) =>
        stateOf(name, version, included, Option.fromNullishOr(activations.get(name))),
      ),
    }
  })

  const settingsSchema = Effect.fn("Connectors.settingsSchema")(function* (name: string) {
    const connector = yield* registry.get(name)
    return {
      connector_name: name,
      schema: connector.settings_schema,
      version: connector.version,
    } satisfies SettingsSchema
  })

  const requireActive = Effect.fn("Connectors.requireActive")(function* (organizationId: OrganizationId, name: string) {
    yield* registry.get(name)
    if (Option.isNone(yield* repo.findActivation(organizationId, name))) {
      return yield* new ConnectorNotActive({
        detail: `The connector "${name}" is not active for this organization. Activate it with PUT /connectors/${name}/activation.`,
      })
    }
  })

  return { state, list, ...(yield* activation), settingsSchema, requireActive }
})
