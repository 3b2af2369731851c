/** Use cases of an organization's settings of a connector: encrypted at rest, shown without their secrets. */
import { Context, Effect, Layer, Option, Predicate } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { ValidationFailed } from "../../../kernel/contract/Problem.ts"
import type { ProblemFault } from "../../../kernel/contract/Problem.ts"
import { SecretBox } from "../../../kernel/ports/SecretBox.ts"
import type { SealedPlace } from "../../../kernel/ports/SecretBox.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { ConnectorSettingsNotFound } from "../Errors.ts"
import { changedExposures, merge, withoutFormerSecrets } from "./SettingsMerge.ts"
import type { JsonObject, PutSettings, SettingsRecord } from "../Model.ts"
import { redact, settingsAt } from "./Redaction.ts"
import { ConnectorRegistry } from "../ConnectorRegistry.ts"
import { ConnectorsRepo } from "../Repo.ts"
import type { SettingsRow } from "../Repo.ts"
import { documentFault } from "../Rules.ts"
import { isSecret, itemAt, memberAt } from "../schema/SchemaWalk.ts"
import type { Applicable } from "../schema/SchemaWalk.ts"
import { faultsOf } from "../schema/SettingsValidator.ts"
import type { SchemaFault } from "../schema/SettingsValidator.ts"

const LOCATION = "body.settings"

/** Where an organization's settings of a connector are sealed. */
export const settingsPlace = (organizationId: string, name: string): SealedPlace => ({
  purpose: "connector-settings",
  boundTo: [organizationId, name],
})

/** A fault's place in the request. It stops at a secret: the members of one may be secrets themselves. */
const located = (at: Applicable, settings: unknown, { message, path }: SchemaFault): ProblemFault => {
  let location = LOCATION
  let here = at
  let value = settings
  for (const part of path) {
    if (isSecret(here)) break
    const isItem = Array.isArray(value)
    location = isItem ? `${location}[${part}]` : `${location}.${part}`
    here = isItem ? itemAt(here, Number(part)) : memberAt(here, part)
    value = Predicate.isObjectOrArray(value) && Object.hasOwn(value, part) ? Reflect.get(value, part) : undefined
  }
  return { location, message: isSecret(here) ? message.slice(0, 200) : message }
}

const refused = (detail: string, errors: ReadonlyArray<ProblemFault>) => new ValidationFailed({ detail, errors })

/** The document to store, or why there is none. */
const decide = Effect.fnUntraced(function* (
  at: Applicable,
  schema: JsonObject,
  sent: JsonObject,
  stored: JsonObject | undefined,
) {
  const asSent = merge(at, sent, stored, { location: LOCATION, nullRemoves: false })
  if (asSent.faults.length > 0) return yield* refused("A secret that is not stored cannot be kept.", asSent.faults)
  const faults = faultsOf(schema, asSent.settings)
  const withoutNulls = merge(at, sent, stored, { location: LOCATION, nullRemoves: true })
  const merged = faults.length === 0 ? asSent : withoutNulls
  if (faults.length > 0 && faultsOf(schema, merged.settings).length > 0) {
    return yield* refused(
      "The settings are not valid under the connector's schema.",
      faults.map((fault) => located(at, asSent.settings, fault)),
    )
  }
  const changed =
    merged.keptSecrets && stored !== undefined ? changedExposures(at, stored, merged.settings, LOCATION) : []
  if (changed.length > 0) {
    const message = "decides where secrets are sent: to change it, send the secrets again"
    return yield* refused(
      "Stored secrets are not sent to a new address.",
      changed.map((location) => ({ location, message })),
    )
  }
  return merged.settings
})

const make = Effect.gen(function* () {
  const repo = yield* ConnectorsRepo
  const registry = yield* ConnectorRegistry
  const box = yield* SecretBox
  const transactions = yield* Transactions

  const opened = (organizationId: string, name: string, row: SettingsRow) =>
    Effect.map(box.open(settingsPlace(organizationId, name), row.sealed), (text) => JSON.parse(text) as JsonObject)

  const notFound = (name: string) =>
    new ConnectorSettingsNotFound({ detail: `The connector "${name}" has no settings here. PUT them first.` })

  const recordOf = (name: string, row: SettingsRow, settings: JsonObject, at: Applicable): SettingsRecord => ({
    connector_name: name,
    settings: redact(at, settings),
    version: row.version,
    updatedAt: row.updatedAt,
    updatedBy: row.updatedBy,
  })

  /** The settings with their secrets, and what says which they are. Never answered to a caller. */
  const reveal = Effect.fnUntraced(function* (organizationId: string, name: string) {
    const connector = yield* registry.get(name)
    const row = yield* repo.findSettings(organizationId, name)
    if (Option.isNone(row)) return yield* notFound(name)
    return {
      row: row.value,
      settings: yield* opened(organizationId, name, row.value),
      at: settingsAt(connector.settings_schema, row.value.settingsSchema),
    }
  })

  const get = Effect.fn("ConnectorSettings.get")(function* (name: string) {
    const { organizationId } = yield* Caller
    const { at, row, settings } = yield* reveal(organizationId, name)
    return recordOf(name, row, settings, at)
  })

  const put = Effect.fn("ConnectorSettings.put")(function* (name: string, input: PutSettings) {
    const { actor, organizationId } = yield* Caller
    const connector = yield* registry.get(name)
    const broken = documentFault(input.settings)
    if (broken !== undefined) {
      return yield* refused(`${LOCATION} ${broken}.`, [{ location: LOCATION, message: broken }])
    }
    return yield* transactions.run(
      Effect.gen(function* () {
        yield* repo.lockSettings(organizationId, name)
        const row = yield* repo.findSettings(organizationId, name)
        const schema = connector.settings_schema
        const at = Option.isSome(row) ? settingsAt(schema, row.value.settingsSchema) : settingsAt(schema)
        const stored = Option.isSome(row)
          ? withoutFormerSecrets(at, settingsAt(schema), yield* opened(organizationId, name, row.value))
          : undefined
        const settings = yield* decide(at, schema, input.settings, stored as JsonObject | undefined)
        const next: SettingsRow = {
          sealed: yield* box.seal(settingsPlace(organizationId, name), JSON.stringify(settings)),
          version: connector.version,
          settingsSchema: schema,
          updatedAt: yield* now,
          updatedBy: { id: actor.id, name: actor.name },
        }
        yield* repo.putSettings(organizationId, name, next)
        return recordOf(name, next, settings, at)
      }),
    )
  })

  /** Needs no registered connector: its secrets can always be removed. */
  const remove = Effect.fn("ConnectorSettings.delete")(function* (name: string) {
    const { organizationId } = yield* Caller
    if (!(yield* repo.deleteSettings(organizationId, name))) return yield* notFound(name)
  })

  return { get, put, delete: remove, reveal }
})

/** Settings of connectors in the caller's organization. */
export class ConnectorSettings extends Context.Service<ConnectorSettings, Effect.Success<typeof make>>()(
  "keyshelf/connectors/ConnectorSettings",
) {
  static readonly layer = Layer.effect(ConnectorSettings, make)
}
