/**
 * Generates the OpenAPI documents, the list of operations, the JSON Schema of catalogues and `docs/errors.md` from the API definitions, and checks that the
 * committed files are up to date.
 */
import { Effect, FileSystem, Path, Schema } from "effect"
import { CoreApi } from "../api/CoreApi.ts"
import { PlatformApi } from "../api/PlatformApi.ts"
import { WebhookApi } from "../api/WebhookApi.ts"
import { packageFile } from "../infra/PackageFiles.ts"
import { catalogSchema } from "./CatalogSchema.ts"
import { errorsPage } from "./ErrorsPage.ts"
import { documentOf } from "./Documented.ts"
import { withMigrations } from "./MigrationsTable.ts"
import { operationList } from "./operations/OperationList.ts"
import { addEvents } from "./Webhooks.ts"

/** A committed document differs from the generated one. */
class DocumentsOutdated extends Schema.TaggedError<DocumentsOutdated>()("DocumentsOutdated", {
  message: Schema.String,
}) {}

/** The text of each document, by its path in the repository. */
export const documents = (): Readonly<Record<string, string>> => {
  const apis = {
    core: documentOf(CoreApi),
    platform: documentOf(PlatformApi),
    webhooks: documentOf(addEvents(WebhookApi)),
  }
  return {
    "openapi/core.json": text(apis.core),
    "openapi/platform.json": text(apis.platform),
    "openapi/webhooks.json": text(apis.webhooks),
    "openapi/operations.json": text(operationList(apis)),
    "openapi/catalog.json": text(catalogSchema()),
    "docs/errors.md": errorsPage([CoreApi, PlatformApi, WebhookApi]),
  }
}

const text = (document: unknown): string => `${JSON.stringify(document, null, 2)}\n`

/** Pages with a generated part: the page as it should be, from the page as it is. */
const pages: Readonly<Record<string, (page: string) => string>> = { "docs/upgrading.md": withMigrations }

const fileOf = Effect.fnUntraced(function* (name: string) {
  const path = yield* Path.Path
  return yield* Effect.orDie(path.fromFileUrl(packageFile(name)))
})

/** Writes all documents. */
export const write = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  for (const [name, content] of Object.entries(documents())) yield* files.writeFileString(yield* fileOf(name), content)
  for (const [name, generated] of Object.entries(pages)) {
    const file = yield* fileOf(name)
    yield* files.writeFileString(file, generated(yield* files.readFileString(file)))
  }
})

/** Fails with {@link DocumentsOutdated} if a committed document is not up to date. */
export const check = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  const read = Effect.fnUntraced(function* (name: string) {
    return yield* files.readFileString(yield* fileOf(name)).pipe(Effect.catch(() => Effect.succeed("")))
  })
  const outdated = (name: string) =>
    new DocumentsOutdated({
      message: `${name} does not match the API definitions. Run "npm run generate" and commit the result.`,
    })
  for (const [name, content] of Object.entries(documents())) {
    if ((yield* read(name)) !== content) return yield* outdated(name)
  }
  for (const [name, generated] of Object.entries(pages)) {
    const committed = yield* read(name)
    if (generated(committed) !== committed) return yield* outdated(name)
  }
  return undefined
})
