/** Validators for the schemas that OpenFeature publishes. */
import { Ajv2020 } from "ajv/dist/2020.js"
import { Ajv } from "ajv"
import { Predicate } from "effect"
import { Yaml } from "effect/encoding"
import { readFileSync } from "node:fs"

const read = (name: string) => readFileSync(new URL(`../fixtures/openfeature/${name}`, import.meta.url), "utf8")

// Replaces OFREP's `oneOf` by `anyOf`. Its alternatives overlap: an integer is also a number, and every response
// matches `codeDefaultFlag`, which requires nothing.
const anyOf = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(anyOf)
  if (!Predicate.isObject(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key === "oneOf" ? "anyOf" : key, anyOf(value)]),
  )
}

const componentsOf = (name: string) => Yaml.parse(read(name)) as { readonly components: { readonly schemas: object } }

const options = { strict: false, allErrors: true, validateFormats: false }

const validator = (ajv: Ajv | Ajv2020, document: object, ref: string) => {
  ajv.addSchema(document, "document")
  const validate = ajv.compile({ $ref: `document#${ref}` })
  return (value: unknown): string => (validate(value) ? "" : ajv.errorsText(validate.errors))
}

const ofrep = (schema: string) =>
  validator(
    new Ajv2020(options),
    { components: anyOf(componentsOf("ofrep-openapi.yaml").components) },
    `/components/schemas/${schema}`,
  )

const sync = (schema: string) =>
  validator(new Ajv(options), { components: componentsOf("sync.yaml").components }, `/components/schemas/${schema}`)

/** Validate a value against a published schema. Return the errors, or an empty string if the value is valid. */
export const published = {
  manifest: sync("ManifestEnvelope"),
  manifestError: sync("ErrorResponse"),
  manifestFile: (() => {
    const ajv = new Ajv(options)
    const validate = ajv.compile(JSON.parse(read("flag-manifest.json")) as object)
    return (value: unknown): string => (validate(value) ? "" : ajv.errorsText(validate.errors))
  })(),
  success: ofrep("serverEvaluationSuccess"),
  failure: ofrep("evaluationFailure"),
  notFound: ofrep("flagNotFound"),
  bulk: ofrep("bulkEvaluationSuccess"),
  bulkFailure: ofrep("bulkEvaluationFailure"),
}
