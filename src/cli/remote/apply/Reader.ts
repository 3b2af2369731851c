/** Reads the records of the service that a catalogue is about. */
import { Effect, Option, Schema, Stream } from "effect"
import type { Section } from "../../../api/CatalogFile.ts"
import { SettingsRecord, SettingsSchema } from "../../../domains/connectors/Model.ts"
import { Grant } from "../../../domains/licenses/Model.ts"
import { CommandFailed } from "../../Failure.ts"
import { EXIT_CODES } from "../connection/ExitCodes.ts"
import { RequestFailed, Service } from "../connection/Service.ts"
import { pagesOf } from "../Lists.ts"
import { entitlementGroups, entitlements, featureFlags, metadataFields, webhooks } from "./kinds/RecordKinds.ts"
import { CONNECTORS } from "./kinds/Connectors.ts"
import { LICENSES } from "./kinds/Licenses.ts"
import { LicenseTerms, storedSchemas } from "./Stored.ts"
import type { Stored, StoredOf } from "./Stored.ts"

const CONCURRENCY = 4

const getting = (path: string) => ({
  method: "GET" as const,
  path,
  query: {},
  body: Option.none(),
  idempotencyKey: Option.none(),
})

const decoded =
  <A>(schema: Schema.Codec<A, unknown>, path: string) =>
  (body: unknown) =>
    Schema.decodeUnknownEffect(schema)(body).pipe(
      Effect.mapError(
        (error) => new CommandFailed({ message: `The response of ${path} is not as expected. ${error.message}` }),
      ),
    )

const listOf = <A>(schema: Schema.Codec<A, unknown>, path: string) =>
  Stream.runCollect(pagesOf(getting(path))).pipe(
    Effect.flatMap((pages) => decoded(Schema.Array(schema), path)(Array.from(pages).flatMap(({ items }) => items))),
  )

/** A list that the service sorts newest first. */
const oldestFirst = <A>(schema: Schema.Codec<A, unknown>, path: string) =>
  Effect.map(listOf(schema, path), (records) => records.toReversed())

const licenses = Effect.gen(function* () {
  const versions = yield* oldestFirst(LicenseTerms, LICENSES)
  return yield* Effect.forEach(
    versions,
    (version) =>
      Effect.map(listOf(Grant, `${LICENSES}/${encodeURIComponent(version.slug)}/entitlements`), (grants) => ({
        ...version,
        grants,
      })),
    { concurrency: CONCURRENCY },
  )
})

const Settings = Schema.Struct({ ...SettingsRecord.fields, updatedAt: Schema.String })

const connectors = Effect.gen(function* () {
  const { send } = yield* Service
  const withSettings = Effect.fnUntraced(function* (connector: StoredOf<"connectors">) {
    const path = `${CONNECTORS}/${encodeURIComponent(connector.connectorName)}/settings`
    const { schema } = yield* Effect.flatMap(send(getting(`${path}/schema`)), decoded(SettingsSchema, path))
    const settings = yield* send(getting(path)).pipe(
      Effect.flatMap(decoded(Settings, path)),
      Effect.map((stored) => ({
        settings: stored.settings,
        updatedAt: stored.updatedAt,
        updatedBy: stored.updatedBy,
      })),
      Effect.catch((error) =>
        error instanceof RequestFailed && error.exitCode === EXIT_CODES.notFound
          ? Effect.succeed({})
          : Effect.fail(error),
      ),
    )
    return { ...connector, ...settings, schema }
  })
  return yield* Effect.forEach(yield* listOf(storedSchemas.connectors, CONNECTORS), withSettings, {
    concurrency: CONCURRENCY,
  })
})

const readers = {
  metadataFields: listOf(storedSchemas.metadataFields, metadataFields.path),
  entitlements: listOf(storedSchemas.entitlements, entitlements.path),
  entitlementGroups: oldestFirst(storedSchemas.entitlementGroups, entitlementGroups.path),
  licenseFamilies: licenses,
  featureFlags: oldestFirst(storedSchemas.featureFlags, featureFlags.path),
  webhooks: oldestFirst(storedSchemas.webhooks, webhooks.path),
  connectors,
} as const satisfies { readonly [S in Section]: Effect.Effect<ReadonlyArray<StoredOf<S>>, unknown, Service> }

/** Reads only the records of these sections, so that no other scope is needed. */
export const readStored = Effect.fn("Catalog.read")(function* (sections: ReadonlyArray<Section>) {
  const read = yield* Effect.forEach(sections, (section) => {
    const records: Effect.Effect<ReadonlyArray<StoredOf<Section>>, CommandFailed | RequestFailed, Service> = readers[
      section
    ]
    return Effect.map(records, (found) => [section, found] as const)
  })
  const stored: Stored = Object.fromEntries(read)
  return stored
})
