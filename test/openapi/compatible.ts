/** Compares an OpenAPI document with the one of a released version: what a client of that version would notice. Pure. */
import { isPart, listOf, partOf } from "../../src/openapi/Parts.ts"
import type { Part } from "../../src/openapi/Parts.ts"
import { makeSchemaComparison } from "./compatibleSchemas.ts"
import type { Break, Direction, Schemas } from "./compatibleSchemas.ts"

interface Comparison extends Schemas {
  readonly compareSchemas: ReturnType<typeof makeSchemaComparison>
}

type Breaks = ReadonlyArray<Break>

const partsIn = (part: Part): ReadonlyArray<readonly [name: string, part: Part]> =>
  Object.entries(part).flatMap(([name, value]) => (isPart(value) ? [[name, value] as const] : []))

/** Each operation by its name, such as `get /api/customers`; of webhooks by the name of the event. */
const operationsIn = (document: Part, section: "paths" | "webhooks"): ReadonlyMap<string, Part> =>
  new Map(
    partsIn(partOf(document, section)).flatMap(([path, methods]) =>
      partsIn(methods).map(([method, operation]) => [`${method} ${path}`, operation] as const),
    ),
  )

const RESPONSES = "#/components/responses/"

/** A response with its content, also if the document describes it once for all operations. */
const responseOf = (document: Part, response: Part): Part => {
  const reference = response["$ref"]
  if (typeof reference !== "string") return response
  return partOf(partOf(partOf(document, "components"), "responses"), reference.slice(RESPONSES.length))
}

const contentBreaks = (to: Comparison, old: Part, now: Part, path: string, direction: Direction): Breaks =>
  partsIn(partOf(old, "content")).flatMap(([type, media]) => {
    const at = `${path} ${type}`
    const next = partOf(now, "content")[type]
    if (!isPart(next)) return [{ path: at, what: "is gone" }]
    return to.compareSchemas(partOf(media, "schema"), partOf(next, "schema"), { path: at, direction })
  })

const parametersOf = (operation: Part): ReadonlyMap<string, Part> =>
  new Map(
    listOf(operation, "parameters")
      .filter(isPart)
      .map((parameter) => [`${String(parameter["in"])}:${String(parameter["name"])}`, parameter]),
  )

const parameterBreaks = (to: Comparison, old: Part, now: Part, path: string): Breaks => {
  const [was, is] = [parametersOf(old), parametersOf(now)]
  const kept = [...was].flatMap(([key, parameter]) => {
    const at = `${path} ${key}`
    const next = is.get(key)
    if (next === undefined) return [{ path: at, what: "is gone" }]
    return to.compareSchemas(partOf(parameter, "schema"), partOf(next, "schema"), { path: at, direction: "request" })
  })
  const isNewlyRequired = ([key, parameter]: readonly [string, Part]) =>
    parameter["required"] === true && was.get(key)?.["required"] !== true
  return [...kept, ...[...is].filter(isNewlyRequired).map(([key]) => ({ path: `${path} ${key}`, what: "is required" }))]
}

const bodyBreaks = (to: Comparison, old: Part, now: Part, path: string, direction: Direction): Breaks => {
  const [was, is] = [partOf(old, "requestBody"), partOf(now, "requestBody")]
  const isNewlyRequired = direction === "request" && is["required"] === true && was["required"] !== true
  return [
    ...contentBreaks(to, was, is, `${path} body`, direction),
    ...(isNewlyRequired ? [{ path: `${path} body`, what: "is required" }] : []),
  ]
}

const headerBreaks = (old: Part, now: Part, path: string): Breaks =>
  partsIn(partOf(old, "headers")).flatMap(([name, header]) => {
    const next = partOf(now, "headers")[name]
    if (!isPart(next)) return [{ path: `${path} ${name}`, what: "is gone" }]
    return header["required"] === true && next["required"] !== true
      ? [{ path: `${path} ${name}`, what: "is no longer always in responses" }]
      : []
  })

const responseBreaks = (to: Comparison, old: Part, now: Part, path: string): Breaks =>
  partsIn(partOf(old, "responses")).flatMap(([status, response]) => {
    const at = `${path} ${status}`
    const next = partOf(now, "responses")[status]
    if (!isPart(next)) return [{ path: at, what: "is gone" }]
    const [was, is] = [responseOf(to.before, response), responseOf(to.after, next)]
    return [...contentBreaks(to, was, is, at, "response"), ...headerBreaks(was, is, at)]
  })

/** The sets of scopes of which a caller needs one. */
const scopesOf = (operation: Part): ReadonlyArray<ReadonlyArray<unknown>> =>
  listOf(operation, "security")
    .filter(isPart)
    .map((alternative) =>
      Object.entries(alternative).flatMap(([scheme, scopes]) => [scheme, ...(Array.isArray(scopes) ? scopes : [])]),
    )

/** A credential that sufficed must suffice. */
const scopeBreaks = (old: Part, now: Part, path: string): Breaks => {
  const [was, is] = [scopesOf(old), scopesOf(now)]
  const callers = was.length === 0 ? [[]] : was
  const isEnough = (held: ReadonlyArray<unknown>) =>
    is.length === 0 || is.some((scopes) => scopes.every((scope) => held.includes(scope)))
  return callers.every(isEnough) ? [] : [{ path, what: `needs ${is.flat().join(" ")}` }]
}

const idBreaks = (old: Part, now: Part, path: string): Breaks =>
  old["operationId"] === now["operationId"]
    ? []
    : [{ path, what: `is ${String(now["operationId"])} in generated clients, no longer ${String(old["operationId"])}` }]

const operationBreaks = (to: Comparison, old: Part, now: Part, path: string): Breaks => [
  ...idBreaks(old, now, path),
  ...scopeBreaks(old, now, path),
  ...parameterBreaks(to, old, now, path),
  ...bodyBreaks(to, old, now, path, "request"),
  ...responseBreaks(to, old, now, path),
]

/** The service sends these: clients read them, as they read responses. */
const eventBreaks = (to: Comparison, old: Part, now: Part, path: string): Breaks =>
  bodyBreaks(to, old, now, path, "response")

const sectionBreaks = (to: Comparison, section: "paths" | "webhooks", compare: typeof operationBreaks): Breaks => {
  const now = operationsIn(to.after, section)
  return [...operationsIn(to.before, section)].flatMap(([path, operation]) => {
    const next = now.get(path)
    return next === undefined ? [{ path, what: "is gone" }] : compare(to, operation, next, path)
  })
}

/** What clients of the released document would notice of the other one. */
export const breaksBetween = (before: Part, after: Part): Breaks => {
  const to = { before, after, compareSchemas: makeSchemaComparison({ before, after }) }
  const all = [...sectionBreaks(to, "paths", operationBreaks), ...sectionBreaks(to, "webhooks", eventBreaks)]
  return [...new Map(all.map((each) => [`${each.path} ${each.what}`, each])).values()]
}
