/** The command of one operation: sends its request and prints the response. */
import { Console, Effect, Predicate, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { print } from "../Ending.ts"
import type { Entry } from "./Catalog.ts"
import { flagsFor } from "./Flags.ts"
import { pagesOf, readPage } from "./Lists.ts"
import type { Operation } from "./Operations.ts"
import { json, linesText, listText, recordText } from "./Output.ts"
import { asked } from "./Requests.ts"
import type { Request } from "./connection/Service.ts"
import { Service } from "./connection/Service.ts"

const all = Flag.Boolean("all").pipe(
  Flag.withDescription("Read all pages, not only the first"),
  Flag.withDefault(false),
)

const onePage = Effect.fnUntraced(function* (request: Request, columns: ReadonlyArray<string>, isJson: boolean) {
  const { send } = yield* Service
  if (isJson) return yield* Console.log(json(yield* send(request)))
  const { hasMore, items, nextCursor } = yield* readPage(request)
  yield* items.length === 0 ? Console.error("Nothing found.") : Console.log(listText(columns, items))
  if (hasMore) yield* Console.error(`There is more: add --all, or --cursor ${nextCursor}`)
})

const allPages = Effect.fnUntraced(function* (request: Request, columns: ReadonlyArray<string>, isJson: boolean) {
  let isFirst = true
  if (isJson) yield* Console.log('{"items": [')
  yield* Stream.runForEach(
    pagesOf(request),
    Effect.fnUntraced(function* ({ items }) {
      if (items.length === 0) return
      const text = isJson ? items.map((item) => JSON.stringify(item)).join(",\n") : listText(columns, items)
      yield* print(isJson && !isFirst ? `,${text}` : text)
      isFirst = false
    }),
  )
  if (isJson) return yield* Console.log('], "hasMore": false, "nextCursor": ""}')
  if (isFirst) yield* Console.error("Nothing found.")
})

const oneRecord = Effect.fnUntraced(function* (request: Request, isJson: boolean) {
  const { send } = yield* Service
  const body = yield* send(request)
  if (body === undefined) return isJson ? undefined : yield* Console.error("Done.")
  if (Predicate.isString(body) && !isJson) return yield* Console.log(linesText(body))
  yield* Console.log(isJson ? json(body) : recordText(body))
})

/** Makes the command with this name. */
export const operationCommand = (name: string, operation: Operation, { columns }: Entry) => {
  const flags = flagsFor(operation)
  const describe = Command.withDescription(operation.summary)
  if (columns === undefined) {
    return Command.make(
      name,
      flags,
      Effect.fn(function* (values) {
        yield* asked(operation, values, (request) => oneRecord(request, values.json))
      }),
    ).pipe(describe)
  }
  return Command.make(
    name,
    { ...flags, all },
    Effect.fn(function* (values) {
      const pages = values.all ? allPages : onePage
      yield* asked(operation, values, (request) => pages(request, columns, values.json))
    }),
  ).pipe(describe)
}
