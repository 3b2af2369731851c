/** What the documents say of the responses that are streams of changes. */
import { EVENT_STREAM } from "../../../kernel/values/MediaTypes.ts"

const content = {
  schema: {
    type: "string",
    description:
      "Server-Sent Events: first `open`, then a `refetchEvaluation` per change, which names its `instance`, `license`, `customer` or `zone`, or nothing: all. `retry` is the time until a reconnection, in milliseconds. A comment every 15 seconds keeps the connection open.",
  },
  example:
    'retry: 4200\nid: 3fqx0k\ndata: {"type":"open"}\n\nid: 3fqx0m\ndata: {"type":"refetchEvaluation","instance":"globex-prod"}\n\n',
}

interface Operation {
  readonly responses: { readonly [status: string]: object }
}

/** Describes the text of a stream: the generator documents only bytes. */
export const describeStream = (operation: object): object => {
  const { responses } = operation as Operation
  return {
    ...operation,
    responses: { ...responses, 200: { ...responses["200"], content: { [EVENT_STREAM]: content } } },
  }
}
