/** Use cases for connector settings: encrypted at rest, returned without their secrets. */
import { Context, Effect, Layer, Option, Predicate } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { requireUnchanged } from "../../../kernel/contract/Rewritable.ts"
import { ValidationFailed } from "../../../kernel/contract/Problem.ts"
import type { ValidationError } from "../../../kernel/contract/Problem.ts"
import { SecretBox } from "../../../kernel/ports/SecretBox.ts"
import type { SealContext } from "../../../kernel/ports/SecretBox.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { ConnectorSettingsNotFound } from "../Errors.ts"
import type { ConnectorNotFound } from "../Errors.ts"
import { changedExposures, removeFormerSecrets } from "./SettingsMerge.ts"
import { mergeAccepted } from "./AcceptedMerge.ts"
import { PutSettings } from "../Model.ts"
import type { JsonObject, SettingsRecord } from "../Model.ts"
import { redact, settingsAt } from "./Redaction.ts"
import { ConnectorRegistry } from "../ConnectorRegistry.ts"
import { ConnectorsRepo } from "../Repo.ts"
import type { SettingsRow } from "../Repo.ts"
import { documentError } from "../Rules.ts"
import { isSecret, itemAt, propertyAt } from "../schema/SchemaWalk.ts"
import type { Applicable } from "../schema/SchemaWalk.ts"
import { settingsErrors } from "../schema/SettingsValidator.ts"
import type { SettingsError } from "../schema/SettingsValidator.ts"

const LOCATION = "body.settings"

/** The maximum number of schema errors in a response. */
const MAX_ERRORS = 20

/** The place that an organization's settings of a connector are sealed for. */
export const settingsSealContext = (organizationId: OrganizationId, name: string): SealContext => ({
  purpose: "connector-settings",
  boundTo: [organizationId, name],
})

/** Adds the place in the request to a schema error. It stops at a secret, whose property names may be secret too. */
const located = (at: Applicable, settings: unknown, { message, path }: SettingsError): ValidationError => {
  let location = LOCATION
  let current = at
  let value = settings
  for (const part of path) {
    if (isSecret(current)) break
    const isItem = Array.isArray(value)
    location = isItem ? `${location}[${part}]` : `${location}.${part}`
    current = isItem ? itemAt(current, Number(part)) : propertyAt(current, part)
    value = Predicate.isObjectOrArray(value) && Object.hasOwn(value, part) ? Reflect.get(value, part) : undefined
  }
  return { location, message: isSecret(current) ? message.slice(0, 200) : message }
}

const rejected = (detail: string, errors: ReadonlyArray<ValidationError>) => new ValidationFailed({ detail, errors })

/** Merges the sent settings with the stored ones and validates the result. Returns the document to store. */
const settingsToStore = Effect.fnUntraced(function* (
  at: Applicable,
  schema: JsonObject,
  sent: JsonObject,
  stored: JsonObject | undefined,
) {
  const merged = mergeAccepted({ at, schema, sent, stored, location: LOCATION })
  if (merged.errors.length > 0) {
    return yield* rejected("`***` can only stand for a stored secret. Send the secret itself.", merged.errors)
  }
  const invalid = settingsErrors(schema, merged.settings, MAX_ERRORS)
  if (invalid.length > 0) {
    return yield* rejected(
      "The settings do not match the connector's schema.",
      invalid.map((error) => located(at, merged.settings, error)),
    )
  }
  const changed =
    merged.retainsSecrets && stored !== undefined ? changedExposures(at, stored, merged.settings, LOCATION) : []
  if (changed.length > 0) {
    const message = "determines where secrets are sent. To change it, send the secrets again"
    return yield* rejected(
      "Stored secrets are not sent to a new address. Send the secrets again with the new address.",
      changed.map((location) => ({ location, message })),
    )
  }
  return merged.settings
})

/** Stored settings with their secrets in clear text. */
interface RevealedSettings {
  readonly row: SettingsRow
  readonly settings: JsonObject
  /** The schemas that mark the secrets. */
  readonly at: Applicable
}

/** Manages the connector settings of the caller's organization. */
export class ConnectorSettings extends Context.Service<
  ConnectorSettings,
  {
    /** The settings of a connector, with `***` for each secret. */
    readonly get: (name: string) => Effect.Effect<SettingsRecord, ConnectorNotFound | ConnectorSettingsNotFound, Caller>
    /** Replaces the settings. `***` retains a stored secret, unless an address changes to which secrets are sent. */
    readonly put: (
      name: string,
      input: PutSettings,
    ) => Effect.Effect<SettingsRecord, ValidationFailed | ConnectorNotFound, Caller>
    /** Deletes the settings, also of a connector that is not registered, so that its secrets can always be removed. */
    readonly delete: (name: string) => Effect.Effect<void, ConnectorSettingsNotFound, Caller>
    /** Reads the settings with their secrets. A response never contains them. */
    readonly reveal: (
      organizationId: OrganizationId,
      name: string,
    ) => Effect.Effect<RevealedSettings, ConnectorNotFound | ConnectorSettingsNotFound>
  }
>()("keyshelf/connectors/ConnectorSettings") {
  static readonly layer = Layer.suspend(() => Layer.effect(ConnectorSettings, make))
}

const make = Effect.gen(function* () {
  const repo = yield* ConnectorsRepo
  const registry = yield* ConnectorRegistry
  const box = yield* SecretBox
  const transactions = yield* Transactions

  const opened = (organizationId: OrganizationId, name: string, row: SettingsRow) =>
    Effect.map(
      box.open(settingsSealContext(organizationId, name), row.sealed),
      (text) => JSON.parse(text) as JsonObject,
    )

  const notFound = (name: string) =>
    new ConnectorSettingsNotFound({
      detail: `The connector "${name}" has no settings in this organization. Store them with PUT first.`,
    })

  const recordOf = (name: string, row: SettingsRow, settings: JsonObject, at: Applicable): SettingsRecord => ({
    connector_name: name,
    settings: redact(at, settings),
    version: row.version,
    updatedAt: row.updatedAt,
    updatedBy: row.updatedBy,
  })

  const reveal = Effect.fnUntraced(function* (organizationId: OrganizationId, name: string) {
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
    const message = documentError(input.settings)
    if (message !== undefined) {
      return yield* rejected(`${LOCATION} ${message}.`, [{ location: LOCATION, message }])
    }
    return yield* transactions.run(
      Effect.gen(function* () {
        yield* repo.lockSettings(organizationId, name)
        const row = yield* repo.findSettings(organizationId, name)
        const schema = connector.settings_schema
        yield* requireUnchanged(PutSettings, Option.isSome(row) ? { connector_name: name, ...row.value } : {}, input)
        const at = Option.isSome(row) ? settingsAt(schema, row.value.settingsSchema) : settingsAt(schema)
        const stored = Option.isSome(row)
          ? removeFormerSecrets(at, settingsAt(schema), yield* opened(organizationId, name, row.value))
          : undefined
        const settings = yield* settingsToStore(at, schema, input.settings, stored as JsonObject | undefined)
        const next: SettingsRow = {
          sealed: yield* box.seal(settingsSealContext(organizationId, name), JSON.stringify(settings)),
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

  const remove = Effect.fn("ConnectorSettings.delete")(function* (name: string) {
    const { organizationId } = yield* Caller
    if (!(yield* repo.deleteSettings(organizationId, name))) return yield* notFound(name)
  })

  return { get, put, delete: remove, reveal }
})
