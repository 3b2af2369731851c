/** The generated documents and their operations. */
import { CoreApi } from "../../src/api/CoreApi.ts"
import { PlatformApi } from "../../src/api/PlatformApi.ts"
import { WebhookApi } from "../../src/api/WebhookApi.ts"
import { documentOf } from "../../src/openapi/Documented.ts"
import type { Schema } from "../support/schemas.ts"
import { addEvents } from "../../src/openapi/Webhooks.ts"

export interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  readonly security: ReadonlyArray<Readonly<Record<string, Array<string>>>>
  readonly requestBody?: Schema
  readonly parameters?: ReadonlyArray<{
    readonly name: string
    readonly in: string
    readonly schema: object
    readonly description?: string
  }>
  readonly responses: Readonly<Record<string, Schema>>
}

type Operations = Readonly<Record<string, Operation>>

interface Document {
  readonly servers: ReadonlyArray<{ readonly url: string }>
  readonly paths: object
  readonly webhooks?: object
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, object>>
    readonly securitySchemes: Readonly<Record<string, object>>
  }
}

/** Every operation of paths (or of webhooks), as `get /api/customers` and what it does. */
export const operationsOf = ({ paths }: { readonly paths: object }) =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations as Operations).map(([method, operation]) => [`${method} ${path}`, operation] as const),
  )

export const coreDocument = documentOf(CoreApi) as unknown as Document
const platformDocument = documentOf(PlatformApi) as unknown as Document
export const webhookDocument = documentOf(addEvents(WebhookApi)) as unknown as Document

export const documents: ReadonlyArray<Document> = [coreDocument, platformDocument, webhookDocument]
