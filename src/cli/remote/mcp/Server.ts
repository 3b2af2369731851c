/** The MCP server: tools that are made from the operations of the service, over standard input and output. */
import { Context, Effect, Layer, Predicate, Stdio } from "effect"
import { McpProtocol, McpSchema, McpServer } from "effect/ai"
import { version } from "../../../infra/Version.ts"
import { Service } from "../connection/Service.ts"
import { makeCall } from "./Calls.ts"
import type { Answer } from "./Calls.ts"
import { makeConfirmations } from "./Confirmations.ts"
import type { Definition } from "./Definitions.ts"
import { messagesOnly } from "./Messages.ts"
import { isRead, removedFrom } from "./Selection.ts"

const INSTRUCTIONS = `Tools of Keyshelf, a licensing and entitlement service. Each tool is an operation of its API.
Lists have pages: pass the \`nextCursor\` of a page as \`cursor\` to read the next one.
A tool that changes something changes nothing when it is called first. It answers what the change would do, and a \`confirmation\`. Show that to the user. Call the tool again with the same arguments and the \`confirmation\` only if the user agrees.
An error has a \`code\`, a \`detail\` that says what to do, and \`errors\` with the places.`

const CONFIRMATION = {
  type: "string",
  description: "The handle from the response to the first call of this change. Without it, nothing is changed",
}

/** The body without properties that would turn a read into a change. Its definition belongs to this tool alone. */
const withoutRemoved = (definition: Definition): Definition["input"] => {
  const removed = removedFrom(definition)
  const { $defs = {}, ...input } = definition.input
  if (removed.length === 0) return definition.input
  const { body } = input.properties
  const name = Predicate.hasProperty(body, "$ref") ? String(body.$ref).slice("#/$defs/".length) : ""
  const schema = $defs[name]
  if (!Predicate.hasProperty(schema, "properties") || !Predicate.isObject(schema.properties)) return definition.input
  const properties = Object.fromEntries(Object.entries(schema.properties).filter(([one]) => !removed.includes(one)))
  return {
    ...input,
    $defs: { ...$defs, [name]: { ...(schema as object), properties } as typeof body },
  } as Definition["input"]
}

export const toolOf = (definition: Definition): McpSchema.Tool => {
  const { description, hasDryRun, id, method, summary } = definition
  const isChange = !isRead(definition)
  const input = withoutRemoved(definition)
  const how = hasDryRun
    ? "The first call is a dry run and answers the impact and a `confirmation`; the second call with it carries the change out."
    : "The operation has no dry run: the first call answers a `confirmation` and changes nothing; the second call with it carries the change out."
  return new McpSchema.Tool({
    name: id,
    title: summary,
    description: [`${summary}.`, description, isChange ? how : ""].filter((part) => part !== "").join("\n\n"),
    inputSchema: {
      ...input,
      properties: isChange ? Object.assign({}, input.properties, { confirmation: CONFIRMATION }) : input.properties,
    },
    annotations: {
      title: summary,
      readOnlyHint: !isChange,
      destructiveHint: isChange && method !== "POST",
      idempotentHint: !isChange || method !== "POST",
      openWorldHint: false,
    },
  })
}

const resultOf = ({ isError, value }: Answer): McpSchema.CallToolResult =>
  new McpSchema.CallToolResult({
    isError,
    content: [{ type: "text", text: Predicate.isString(value) ? value : JSON.stringify(value) }],
  })

/** Registers the tools before the server reads its first request. */
const registrations = (definitions: ReadonlyArray<Definition>) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const server = yield* McpServer.McpServer
      const service = yield* Service
      const call = makeCall(yield* makeConfirmations)
      for (const definition of definitions) {
        yield* server.addTool({
          tool: toolOf(definition),
          annotations: Context.empty(),
          handle: (payload: unknown) =>
            call(definition, Predicate.isObject(payload) ? { ...payload } : {}).pipe(
              Effect.map(resultOf),
              Effect.provideService(Service, service),
            ),
        })
      }
    }),
  )

/** Serves the tools until standard input ends. */
export const serveTools = (definitions: ReadonlyArray<Definition>) =>
  Layer.launch(
    McpServer.layerStdio({
      name: "keyshelf",
      version,
      instructions: INSTRUCTIONS,
      protocols: [McpProtocol.v2025_11_25, McpProtocol.v2025_06_18, McpProtocol.v2025_03_26, McpProtocol.v2024_11_05],
      registrations: registrations(definitions),
    }).pipe(Layer.provide(Layer.effect(Stdio.Stdio, messagesOnly))),
  )
