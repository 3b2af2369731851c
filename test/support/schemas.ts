/** Validators of the schemas of an OpenAPI document. */
import { Ajv2020 } from "ajv/dist/2020.js"
import { namesInRequests } from "../../src/openapi/ResponseSchemas.ts"

// eslint-disable-next-line typescript/no-explicit-any -- schemas have many shapes
export type Schema = any

/** What a validator needs of a document. */
export interface SchemaDocument {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

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
export const validatorOf = (document: SchemaDocument) => {
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
