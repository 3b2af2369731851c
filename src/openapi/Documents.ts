/**
 * Generates the OpenAPI documents, the JSON Schema of catalogues and `docs/errors.md` from the API definitions, and checks that the
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
import { addEvents } from "./Webhooks.ts"

/** A committed document differs from the generated one. */
class DocumentsOutdated extends Schema.TaggedError<DocumentsOutdated>()("DocumentsOutdated", {
  message: Schema.String,
}) {}

/** The text of each document, by its path in the repository. */
export const documents = (): Readonly<Record<string, string>> => ({
  "openapi/core.json": text(documentOf(CoreApi)),
  "openapi/platform.json": text(documentOf(PlatformApi)),
  "openapi/webhooks.json": text(documentOf(addEvents(WebhookApi))),
  "openapi/catalog.json": text(catalogSchema()),
  "docs/errors.md": errorsPage([CoreApi, PlatformApi, WebhookApi]),
})

const text = (document: unknown): string => `${JSON.stringify(document, null, 2)}\n`

const fileOf = Effect.fnUntraced(function* (name: string) {
  const path = yield* Path.Path
  return yield* Effect.orDie(path.fromFileUrl(packageFile(name)))
})

/** Writes all documents. */
export const write = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  for (const [name, content] of Object.entries(documents())) yield* files.writeFileString(yield* fileOf(name), content)
})

/** Fails with {@link DocumentsOutdated} if a committed document is not up to date. */
export const check = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  for (const [name, content] of Object.entries(documents())) {
    const committed = yield* files.readFileString(yield* fileOf(name)).pipe(Effect.catch(() => Effect.succeed("")))
    if (committed !== content) {
      return yield* new DocumentsOutdated({
        message: `${name} does not match the API definitions. Run "npm run generate" and commit the result.`,
      })
    }
  }
})
