/** Reads the records of the service that a catalogue is about. */
import { Effect, Option, Schema, Stream } from "effect"
import type { Section } from "../../../api/CatalogFile.ts"
import { EXIT_CODES } from "../connection/ExitCodes.ts"
import { RequestFailed, Service } from "../connection/Service.ts"
import { pagesOf } from "../Lists.ts"
import type { Stored } from "./Catalog.ts"
import type { Properties } from "./Plan.ts"

const CONCURRENCY = 4

const getting = (path: string) => ({
  method: "GET" as const,
  path,
  query: {},
  body: Option.none(),
  idempotencyKey: Option.none(),
})

const listOf = (path: string) =>
  Effect.map(Stream.runCollect(pagesOf(getting(path))), (pages): ReadonlyArray<Properties> =>
    Array.from(pages).flatMap(({ items }) => items),
  )

/** A list that the service sorts newest first. */
const oldestFirst = (path: string) => Effect.map(listOf(path), (records) => records.toReversed())

const licenses = Effect.gen(function* () {
  const versions = yield* oldestFirst("/api/licenses")
  const withGrants = (version: Properties) =>
    Effect.map(listOf(`/api/licenses/${encodeURIComponent(String(version["slug"]))}/entitlements`), (grants) => ({
      ...version,
      grants,
    }))
  return yield* Effect.forEach(versions, withGrants, { concurrency: CONCURRENCY })
})

const SchemaOf = Schema.Struct({ schema: Schema.Record(Schema.String, Schema.Unknown) })
const SettingsOf = Schema.Struct({
  settings: Schema.Record(Schema.String, Schema.Unknown),
  updatedAt: Schema.String,
  updatedBy: Schema.Unknown,
})

const connectors = Effect.gen(function* () {
  const { send } = yield* Service
  const withSettings = Effect.fnUntraced(function* (connector: Properties) {
    const path = `/api/connectors/${encodeURIComponent(String(connector["connectorName"]))}/settings`
    const { schema } = yield* send(getting(`${path}/schema`)).pipe(Effect.flatMap(Schema.decodeUnknownEffect(SchemaOf)))
    const settings = yield* send(getting(path)).pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(SettingsOf)),
      Effect.catch((error) =>
        error instanceof RequestFailed && error.exitCode === EXIT_CODES.notFound
          ? Effect.succeed({})
          : Effect.fail(error),
      ),
    )
    return { ...connector, ...settings, schema }
  })
  return yield* Effect.forEach(yield* listOf("/api/connectors"), withSettings, { concurrency: CONCURRENCY })
})

const readers = {
  metadataFields: listOf("/api/metadata-fields"),
  entitlements: listOf("/api/entitlements"),
  entitlementGroups: oldestFirst("/api/entitlement-groups"),
  licenseFamilies: licenses,
  featureFlags: oldestFirst("/api/feature-flags"),
  webhooks: oldestFirst("/api/webhooks"),
  connectors,
} as const satisfies Readonly<Record<Section, unknown>>

/** Reads the records of these sections, and nothing that needs another scope. */
export const readStored = Effect.fn("Catalog.read")(function* (sections: ReadonlyArray<Section>) {
  const read = yield* Effect.forEach(
    sections,
    Effect.fnUntraced(function* (section) {
      const records: ReadonlyArray<Properties> = yield* readers[section]
      return [section, records] as const
    }),
  )
  const stored: Stored = Object.fromEntries(read)
  return stored
})
