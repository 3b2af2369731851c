/**
 * CloudEvents in binary mode (CloudEvents 1.0, HTTP protocol binding, section 3.1): attributes are `ce-*` headers, the
 * body is `data`. The event becomes the same event in structured mode. Everything after this, including the binding of
 * an `Idempotency-Key`, thus sees one form.
 */
import { Context, Effect, Layer, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { isUtf8 } from "node:buffer"
import { BinaryEvents } from "../../kernel/contract/Endpoint.ts"
import { failWithErrors, MalformedBody } from "../../kernel/contract/Problem.ts"
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import { isJsonType } from "../../kernel/values/MediaTypes.ts"

type Request = HttpServerRequest.HttpServerRequest

const PREFIX = "ce-"

// One of these makes a request binary mode, so that the event's own checks name the missing ones.
const REQUIRED = ["ce-specversion", "ce-id", "ce-source", "ce-type"]

// The content of the event, which binary mode never sends as headers.
const NOT_ATTRIBUTES = new Set(["data", "data_base64", "datacontenttype"])

// The content type decides first: it is that of an event in structured mode, or of a batch.
const isBinary = ({ headers }: Request): boolean =>
  REQUIRED.some((name) => headers[name] !== undefined) &&
  !/^\s*application\/cloudevents/i.test(headers["content-type"] ?? "")

/** The value of a header; none if it is not percent-encoded UTF-8. Emitters of earlier versions sent quoted strings. */
const decodeValue = Option.liftThrowable((sent: string) =>
  decodeURIComponent(/^".*"$/s.test(sent) ? sent.slice(1, -1).replaceAll(/\\(.)/gs, "$1") : sent),
)

const readAttributes = Effect.fnUntraced(function* (headers: Request["headers"]) {
  const attributes: Record<string, string> = {}
  const errors: Array<ValidationError> = []
  // Sorted, because the order of headers has no meaning: a retry in another order is the same request.
  for (const header of Object.keys(headers).sort()) {
    const name = header.slice(PREFIX.length)
    const sent = headers[header]
    if (!header.startsWith(PREFIX) || sent === undefined || NOT_ATTRIBUTES.has(name)) continue
    const value = decodeValue(sent)
    if (Option.isSome(value)) Object.defineProperty(attributes, name, { value: value.value, enumerable: true })
    else errors.push({ location: `header.${header}`, message: "must be percent-encoded UTF-8", value: sent })
  }
  yield* failWithErrors(errors)
  return attributes
})

const malformed = (message: string) =>
  new MalformedBody({ detail: `The body ${message}.`, errors: [{ location: "body", message }] })

/** The property of the structured event that has its data, as JSON text. Numbers keep all their digits. */
const readData = Effect.fnUntraced(function* (request: Request) {
  const bytes = Buffer.from(yield* Effect.orDie(request.arrayBuffer))
  if (bytes.length === 0) return ""
  const sent = request.headers["content-type"] ?? "application/json"
  if (!isJsonType(sent)) {
    return `,"datacontenttype":${JSON.stringify(sent)},"data_base64":"${bytes.toString("base64")}"`
  }
  if (!isUtf8(bytes)) return yield* malformed("is not UTF-8")
  const text = bytes.toString()
  yield* Effect.try({ try: () => void JSON.parse(text), catch: () => malformed("is not valid JSON") })
  return `,"data":${text}`
})

const structured = Effect.fnUntraced(function* (request: Request) {
  const attributes = JSON.stringify(yield* readAttributes(request.headers))
  const text = `${attributes.slice(0, -1)}${yield* readData(request)}}`
  const event = request.modify({
    headers: { ...request.headers, "content-type": "application/cloudevents+json" },
  })
  return Object.defineProperty(event, "text", { value: Effect.succeed(text) })
})

/** Middleware of the operation that takes usage events. Requests in other modes pass unchanged. */
export const layer = Layer.succeed(
  BinaryEvents,
  BinaryEvents.of((handler) =>
    Effect.withFiber(({ context }) => {
      const request = Context.getUnsafe(context, HttpServerRequest.HttpServerRequest)
      if (!isBinary(request)) return handler
      return Effect.flatMap(structured(request), (event) =>
        Effect.provideService(handler, HttpServerRequest.HttpServerRequest, event),
      )
    }),
  ),
)
