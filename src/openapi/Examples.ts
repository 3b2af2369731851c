/**
 * Examples of success responses. Schemas declare what is their own in an example (`component("Customer", { name:
 * "Globex" })`); ids, times, enums and other components follow, so that examples agree.
 */
import { createHash } from "node:crypto"
import { referencedName } from "./Components.ts"
import type { Components } from "./Components.ts"
import { isPart, listOf, mapValues, partOf } from "./Parts.ts"
import type { OperationChange, Part } from "./Parts.ts"

const TIME = "2026-01-31T09:00:00.000Z"

/** What an id is called where it is not called after its record. */
const NOUNS: Readonly<Record<string, string>> = {
  deploymentInZone: "deployment",
  endpoint: "webhookEndpoint",
  family: "licenseFamily",
  issuedToken: "accessToken",
  resolvedLicenseFamily: "licenseFamily",
  rotatedToken: "accessToken",
  tokenOfServiceAccount: "accessToken",
  webhookEndpointWithSecret: "webhookEndpoint",
}

/** A UUIDv7 that is the same for every use of a noun, so that the `customerId` of an instance is the `id` of the customer. */
const idOf = (word: string): string => {
  const noun = NOUNS[word] ?? word
  const digits = createHash("sha256").update(noun).digest("hex")
  return `019c1335-fa80-7${digits.slice(0, 3)}-8${digits.slice(3, 6)}-${digits.slice(6, 18)}`
}

const uncapitalized = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

const nounOf = (component: string, property: string): string =>
  property === "id" ? uncapitalized(component.replace(/Reference$/, "")) : property.replace(/Ids?$/, "")

/** The examples of a document's components. */
export const exampleValues = (document: Part, components: Components) => {
  const schemas = partOf(partOf(document, "components"), "schemas")

  const ofComponent = (name: string): unknown => {
    const schema = partOf(schemas, name)
    const own = components.get(name)?.example
    if (own !== undefined && !("properties" in schema)) return own
    return ofRecord(name, schema, isPart(own) ? own : {})
  }

  const ofRecord = (name: string, schema: Part, own: Part): unknown => {
    if (!("properties" in schema)) return valueOf(schema, name, "")
    const required = listOf(schema, "required")
    const shown = Object.entries(partOf(schema, "properties")).filter(([key]) => key in own || required.includes(key))
    return Object.fromEntries(
      shown.map(([key, property]) => [key, key in own ? own[key] : valueOf(property, name, key)]),
    )
  }

  const valueOf = (schema: unknown, component: string, property: string): unknown => {
    if (!isPart(schema)) throw new Error(`${component}.${property} has no schema`)
    const name = referencedName(schema)
    if (name !== undefined) return ofComponent(name)
    const [first] = listOf(schema, "enum")
    if (first !== undefined) return first
    if (schema["format"] === "uuid") return idOf(nounOf(component, property))
    if (schema["format"] === "date-time") return TIME
    if (Array.isArray(schema["anyOf"])) return valueOf(schema["anyOf"][0], component, property)
    if (schema["type"] === "array") return [valueOf(schema["items"], component, property)]
    throw new Error(`The component ${component} needs an example of ${property || "its value"}`)
  }

  return (schema: Part): unknown => valueOf(schema, "", "")
}

const withExample = (response: unknown, example: (schema: Part) => unknown): unknown =>
  isPart(response) && "content" in response
    ? {
        ...response,
        content: mapValues(partOf(response, "content"), (media) =>
          isPart(media) && !("example" in media) ? { ...media, example: example(partOf(media, "schema")) } : media,
        ),
      }
    : response

/** Adds an example to each success response of an operation. */
export const withExamples =
  (example: (schema: Part) => unknown): OperationChange =>
  (operation) => ({
    ...operation,
    responses: mapValues(partOf(operation, "responses"), (response, status) =>
      status.startsWith("2") ? withExample(response, example) : response,
    ),
  })
