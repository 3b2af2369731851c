/** The generated documents, their operations, and validators of their schemas. */
import { Ajv2020 } from "ajv/dist/2020.js"
import { CoreApi } from "../../src/api/CoreApi.ts"
import { PlatformApi } from "../../src/api/PlatformApi.ts"
import { WebhookApi } from "../../src/api/WebhookApi.ts"
import { documentOf } from "../../src/openapi/Documented.ts"
import { namesInRequests } from "../../src/openapi/ResponseSchemas.ts"

// eslint-disable-next-line typescript/no-explicit-any -- schemas have many shapes
export type Schema = any

export interface Operation {
  readonly operationId: string
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

export interface Document {
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
export const platformDocument = documentOf(PlatformApi) as unknown as Document
export const webhookDocument = documentOf(WebhookApi) as unknown as Document

export const documents: ReadonlyArray<Document> = [coreDocument, platformDocument, webhookDocument]

// Responses may get further properties in later versions. Here an undocumented property is a mistake.
const close = (value: Schema): Schema => {
  if (Array.isArray(value)) return value.map(close)
  if (typeof value !== "object" || value === null) return value
  const closed = Object.fromEntries(Object.entries(value).map(([key, child]) => [key, close(child)]))
  return closed["properties"] !== undefined && closed["additionalProperties"] === undefined
    ? { ...closed, additionalProperties: false }
    : closed
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Validates values by schemas of a document, without tolerance for undocumented properties. Returns the errors. */
export const validatorOf = (document: Document) => {
  const inRequests = namesInRequests(document as unknown as Parameters<typeof namesInRequests>[0])
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => [
    name,
    inRequests.has(name) ? schema : close(schema),
  ])
  const ajv = new Ajv2020({
    allErrors: true,
    strict: false,
    formats: {
      uuid: UUID,
      uri: (text) => URL.canParse(text),
      "date-time": (text) => /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text)),
    },
  })
  ajv.addSchema({ $id: "https://keyshelf.example/", components: { schemas: Object.fromEntries(schemas) } })
  const validators = new Map<string, ReturnType<typeof ajv.compile>>()
  return (schema: Schema, value: unknown): ReadonlyArray<string> => {
    const key = JSON.stringify(schema)
    const absolute = JSON.parse(key.replaceAll('"#/', '"https://keyshelf.example/#/'))
    const validate = validators.get(key) ?? ajv.compile(absolute)
    validators.set(key, validate)
    if (validate(value)) return []
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    )
  }
}
