/** The connectors of the installation: built in, or registered by the operator. */
import { Context, Effect, Layer, Option } from "effect"
import { Operator } from "../../kernel/contract/Caller.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { noSuch, ValidationFailed } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor } from "../../kernel/contract/Problem.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { adapters } from "./adapters/BuiltInConnectors.ts"
import { ConnectorNotFound, DeleteConnectorBuiltIn, RegisterConnectorBuiltIn } from "./Errors.ts"
import type { RegisterConnector, RegisteredConnector } from "./Model.ts"
import { ConnectorsRepo } from "./Repo.ts"
import type { ConnectorRow } from "./Repo.ts"
import { documentError, listedAfter } from "./Rules.ts"
import { lint } from "./schema/SchemaLint.ts"

/** A connector with the id that lists are sorted by. */
type Registered = RegisteredConnector & { readonly id: string }

const builtIn: ReadonlyArray<Registered> = adapters.map(({ id, name, schema, version }) => ({
  id,
  name,
  version,
  settings_schema: schema,
  builtIn: true,
  createdAt: null,
  createdBy: null,
  updatedAt: null,
  updatedBy: null,
}))

const isBuiltIn = (name: string): boolean => builtIn.some((connector) => connector.name === name)

const ofRow = (row: ConnectorRow): Registered => ({ ...row, builtIn: false })

const withoutId = ({ id: _, ...connector }: Registered): RegisteredConnector => connector

/** Manages the connectors of the installation. Only the operator can change them. */
export class ConnectorRegistry extends Context.Service<
  ConnectorRegistry,
  {
    /** The connector with a name, none if the installation does not have it. */
    readonly find: (name: string) => Effect.Effect<Option.Option<Registered>>
    /** The connector with a name. Fails if the installation does not have it. */
    readonly get: (name: string) => Effect.Effect<Registered, ConnectorNotFound>
    /** All connectors, newest first, built-in ones last. A registered name that is now built in appears once. */
    readonly all: Effect.Effect<ReadonlyArray<Registered>>
    /** A page of all connectors, newest first, built-in ones last. */
    readonly list: (request: PageRequest) => Effect.Effect<Page<RegisteredConnector>, InvalidCursor>
    /** Registers a connector, or replaces the version and the schema of a registered one. */
    readonly register: (
      input: RegisterConnector,
    ) => Effect.Effect<
      { readonly isNew: boolean; readonly connector: RegisteredConnector },
      ValidationFailed | RegisterConnectorBuiltIn,
      Operator
    >
    /** Removes a registered connector. Its activations and settings remain. */
    readonly delete: (name: string) => Effect.Effect<void, ConnectorNotFound | DeleteConnectorBuiltIn>
  }
>()("keyshelf/connectors/ConnectorRegistry") {
  static readonly layer = Layer.suspend(() => Layer.effect(ConnectorRegistry, make))
}

const make = Effect.gen(function* () {
  const repo = yield* ConnectorsRepo
  const cursors = yield* Cursors

  const find = Effect.fnUntraced(function* (name: string) {
    const known = builtIn.find((connector) => connector.name === name)
    return known === undefined ? Option.map(yield* repo.find(name), ofRow) : Option.some(known)
  })

  const get = Effect.fnUntraced(function* (name: string) {
    const connector = yield* find(name)
    if (Option.isSome(connector)) return connector.value
    return yield* new ConnectorNotFound({ detail: noSuch("connector", name) })
  })

  const all = Effect.map(repo.all, (rows) => [...rows.filter(({ name }) => !isBuiltIn(name)).map(ofRow), ...builtIn])

  const list = Effect.fn("ConnectorRegistry.list")(function* (request: PageRequest) {
    const page = yield* cursors.page(
      { name: "connector-registry", organizationId: null },
      request,
      (after, count) => Effect.map(all, (connectors) => listedAfter(connectors, after, count)),
      ({ id }) => [id],
    )
    return { ...page, items: page.items.map(withoutId) }
  })

  const register = Effect.fn("ConnectorRegistry.register")(function* (input: RegisterConnector) {
    const { actor } = yield* Operator
    if (isBuiltIn(input.name)) {
      return yield* new RegisterConnectorBuiltIn({
        detail: `The connector "${input.name}" is built into the service. Choose a different name.`,
      })
    }
    const message = documentError(input.settings_schema)
    const errors = message === undefined ? lint(input.settings_schema) : [{ location: "body.settings_schema", message }]
    if (errors.length > 0) {
      return yield* new ValidationFailed({
        detail: "The settings schema is not valid. Correct the places that `errors` lists.",
        errors,
      })
    }
    const at = yield* now
    const id = yield* newId
    const row: ConnectorRow = { ...input, id, createdAt: at, createdBy: actor, updatedAt: at, updatedBy: actor }
    const stored = Option.getOrElse(yield* repo.upsert(row), () => row)
    return { isNew: stored.id === id, connector: withoutId(ofRow(stored)) }
  })

  const remove = Effect.fn("ConnectorRegistry.delete")(function* (name: string) {
    if (isBuiltIn(name)) {
      return yield* new DeleteConnectorBuiltIn({
        detail: `The connector "${name}" is built into the service. To disable it, exclude it from licenses.`,
      })
    }
    if (!(yield* repo.delete(name))) return yield* new ConnectorNotFound({ detail: noSuch("connector", name) })
  })

  return { find, get, all, list, register, delete: remove }
})
