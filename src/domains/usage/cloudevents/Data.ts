/** The data of a CloudEvent: as JSON in `data`, or as bytes in `data_base64` (CloudEvents JSON format, 3.1). Pure. */
import { Predicate, Result } from "effect"
import { Base64 } from "effect/encoding"
import { parseJson } from "../../../kernel/values/Decimal.ts"
import { isJsonType } from "../../../kernel/values/MediaTypes.ts"

/** What events say about usage. */
interface EventData {
  readonly value?: unknown
  readonly uniqueKey?: unknown
}

const NO_DATA: EventData = {}

const utf8 = new TextDecoder("utf-8", { fatal: true })

// A COUNT ignores the data, so it may have any shape.
const ofAnyShape = (data: unknown): EventData => (Predicate.isObject(data) ? data : NO_DATA)

const ofBytes = (bytes: Uint8Array): Result.Result<EventData, string> =>
  Result.try({
    try: () => ofAnyShape(parseJson(utf8.decode(bytes))),
    catch: () => "`data_base64` must be JSON in UTF-8, or `datacontenttype` must say what else it is",
  })

const ofBase64 = (encoded: unknown, contentType: unknown): Result.Result<EventData, string> => {
  const bytes = Predicate.isString(encoded) ? Result.getOrUndefined(Base64.decode(encoded)) : undefined
  if (bytes === undefined) return Result.fail("`data_base64` must be Base64 (RFC 4648) with padding")
  if (!Predicate.isString(contentType)) return Result.fail("`datacontenttype` must be text")
  // Bytes of another type say nothing about usage. A COUNT counts the event.
  return bytes.length > 0 && isJsonType(contentType) ? ofBytes(bytes) : Result.succeed(NO_DATA)
}

/** The data of an event, or what is wrong with it. `null` is as good as absent. */
export const dataOf = (event: object): Result.Result<EventData, string> => {
  const data = "data" in event ? event.data : null
  const encoded = "data_base64" in event ? event.data_base64 : null
  if (encoded === null || encoded === undefined) return Result.succeed(ofAnyShape(data))
  if (data !== null && data !== undefined) return Result.fail("`data` and `data_base64` must not both be sent")
  // Without a type the data is JSON.
  const contentType = "datacontenttype" in event ? event.datacontenttype : null
  return ofBase64(encoded, contentType ?? "application/json")
}
