/**
 * How much of the process a request uses at a time. Requests of an organization take turns with those of others
 * (`kernel/concurrency/FairQueue.ts`), so that much work of one delays single requests of another by a few milliseconds.
 */
import { Exit, Option, SchemaAST } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import type { EndedWork, FairQueueBounds } from "../kernel/concurrency/FairQueue.ts"
import { annotationOf, oncePerEndpoint, ReadsMany } from "../kernel/contract/Endpoint.ts"
import { DEFAULT_LIMIT } from "../kernel/contract/Page.ts"
import { MalformedBody, ValidationFailed } from "../kernel/contract/Problem.ts"

// A short request weighs 1: one record, or a check of some entitlements.
const SHORT = 1
const PAGE = 4
/** How much work of an organization may run at a time. */
const MAX_WEIGHT = 32
/** How much while others have work: what one sends together is what another waits for. */
const MAX_SHARED_WEIGHT = 8

const KILOBYTE = 1024

const isRejectedRequest = (exit: Exit.Exit<unknown, unknown>): boolean => {
  const error = Exit.isFailure(exit) ? Exit.findErrorOption(exit) : Option.none()
  return Option.isSome(error) && (error.value instanceof ValidationFailed || error.value instanceof MalformedBody)
}

// Receiving a megabyte takes the process about eight milliseconds, which is not part of the work.
const RECEIVING_MILLIS_PER_WEIGHT = 0.25

// A request that takes longer has waited for something other than the process.
const MAX_MILLIS = 100

const costOfRejection = ({ exit, millis, weight }: EndedWork): number =>
  isRejectedRequest(exit) ? Math.min(3 * (millis + weight * RECEIVING_MILLIS_PER_WEIGHT), MAX_MILLIS) : 0

/**
 * The bounds of an organization. A request that is heavier runs alone. A caller that keeps sending requests that are
 * rejected gets a third of the time: each costs three times as long as it takes.
 */
export const fairShares: FairQueueBounds = {
  perKey: MAX_WEIGHT,
  perSharingKey: MAX_SHARED_WEIGHT,
  maxTurnMillis: MAX_MILLIS,
  costOf: costOfRejection,
}

const hasPages = ({ query }: HttpApiEndpoint.Top): boolean =>
  query !== undefined &&
  SchemaAST.isObjects(query.ast) &&
  query.ast.propertySignatures.some(({ name }) => name === "limit")

type WeightOfUrl = (url: string) => number

const ofOneRecord: WeightOfUrl = () => SHORT
const ofPage: WeightOfUrl = (url) =>
  PAGE * Math.ceil(Number(/[?&]limit=(\d+)/.exec(url)?.[1] ?? DEFAULT_LIMIT) / DEFAULT_LIMIT)
const ofAllRecords: WeightOfUrl = () => MAX_WEIGHT / 2

const weightOfEndpoint = oncePerEndpoint((endpoint): WeightOfUrl => {
  if (annotationOf(endpoint, ReadsMany) === true) return ofAllRecords
  return hasPages(endpoint) ? ofPage : ofOneRecord
})

// Up to a quarter of a megabyte, two of an organization run at a time; larger ones alone.
const weightOfBody = (length: number): number => {
  if (length <= KILOBYTE) return SHORT
  return length > 256 * KILOBYTE ? MAX_WEIGHT : Math.min(MAX_WEIGHT / 2, Math.ceil(4 * Math.sqrt(length / KILOBYTE)))
}

/** The weight of a request's work. */
export const weightOf = (
  { headers, method, url }: HttpServerRequest.HttpServerRequest,
  endpoint: HttpApiEndpoint.Top,
): number => {
  const weight = weightOfEndpoint(endpoint)(url)
  if (method === "GET" || method === "DELETE") return weight
  // Without a length, it is assumed to be large.
  return Math.max(weight, weightOfBody(Number(headers["content-length"] ?? Infinity)))
}
