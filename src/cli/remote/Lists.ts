/** Pages of lists, and events, as text. */
import { Effect, Option, Predicate, Schema, Stream } from "effect"
import { CommandFailed } from "../Failure.ts"
import { lineOf } from "./Output.ts"
import type { Request } from "./connection/Service.ts"
import { Service } from "./connection/Service.ts"

const Page = Schema.Struct({
  items: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)),
  hasMore: Schema.Boolean,
  nextCursor: Schema.String,
})

const MAX_PAGE = 200

/** Reads one page of a list. */
export const readPage = Effect.fnUntraced(function* (request: Request) {
  const { send } = yield* Service
  return yield* Schema.decodeUnknownEffect(Page)(yield* send(request)).pipe(
    Effect.mapError(
      (error) => new CommandFailed({ message: `The response is not a page of a list. ${error.message}` }),
    ),
  )
})

/** All pages of a list, one after the other, so that a list of any length needs the memory of one page. */
export const pagesOf = (request: Request) =>
  Stream.paginate({ limit: String(MAX_PAGE), ...request.query }, (query) =>
    Effect.map(readPage({ ...request, query }), (page) => [
      [page],
      page.hasMore ? Option.some({ ...query, cursor: page.nextCursor }) : Option.none(),
    ]),
  )

const TYPE_WIDTH = 28

/** An event on one line: when, what, who, and about which record. */
export const eventText = ({ actor, data, timestamp, type }: Readonly<Record<string, unknown>>): string => {
  const record = Predicate.isObject(data) ? data : {}
  const subject = ["slug", "key", "instanceSlug", "licenseSlug", "connectorName", "name", "id"]
    .flatMap((name) => (Predicate.hasProperty(record, name) ? [lineOf(record[name])] : []))
    .find((text) => text !== "")
  return [lineOf(timestamp), lineOf(type).padEnd(TYPE_WIDTH), lineOf(actor), subject ?? ""].join("  ").trimEnd()
}
