/** An assistant: it starts `keyshelf mcp` and speaks JSON-RPC with it over standard input and output. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { program } from "../shell.ts"

/** A tool as the server lists it. */
interface Tool {
  readonly name: string
  readonly description: string
  readonly inputSchema: {
    readonly properties: object
    readonly required: ReadonlyArray<string>
    readonly $defs?: object
  }
  readonly annotations: { readonly readOnlyHint: boolean; readonly destructiveHint: boolean }
}

/** What a tool answered. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests know what each tool answers
type Value = any

/** A running server. */
interface Assistant {
  readonly protocolVersion: string
  readonly instructions: string
  readonly tools: Effect.Effect<ReadonlyArray<Tool>>
  readonly call: (name: string, given: object) => Effect.Effect<{ readonly isError: boolean; readonly value: Value }>
  /** All that the server wrote on standard error. */
  readonly errors: () => string
  /** All that it wrote on standard output. */
  readonly output: () => string
  /** Ends standard input, and returns the exit code. */
  readonly end: Effect.Effect<number | null>
}

interface Message {
  readonly id?: number
  readonly result?: Value
  readonly error?: unknown
}

/** Starts the server with arguments and an environment, and begins a session. The server ends with the scope. */
export const startAssistant = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  env: Record<string, string>,
): Effect.fn.Return<Assistant, never, Scope.Scope> {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [program, "mcp", ...args], { env, stdio: "pipe" })),
    (started) => Effect.sync(() => started.kill("SIGKILL")),
  )
  let errors = ""
  let output = ""
  let id = 0
  const waiting = new Map<number, (message: Message) => void>()
  const closed = new Promise<number | null>((done) => child.on("close", done))
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()))
  createInterface({ input: child.stdout }).on("line", (line) => {
    output += `${line}\n`
    const message: Message = JSON.parse(line)
    if (message.id !== undefined) waiting.get(message.id)?.(message)
  })
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
  const request = (method: string, params: object): Effect.Effect<Value> =>
    Effect.promise(async () => {
      const number = ++id
      const answered = new Promise<Message>((done) => waiting.set(number, done))
      send({ id: number, method, params })
      const ended = closed.then((code): Message => ({ error: `The server ended with ${code}: ${errors}` }))
      const { error, result } = await Promise.race([answered, ended])
      assert.isUndefined(error, `${method}: ${JSON.stringify(error)}`)
      return result
    })
  const session = yield* request("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  })
  send({ method: "notifications/initialized" })
  return {
    protocolVersion: session.protocolVersion,
    instructions: session.instructions,
    tools: Effect.map(request("tools/list", {}), ({ tools }) => tools),
    call: (name, given) =>
      Effect.map(request("tools/call", { name, arguments: given }), ({ content, isError = false }) => ({
        isError,
        value: JSON.parse(content[0].text),
      })),
    errors: () => errors,
    output: () => output,
    end: Effect.promise(() => {
      child.stdin.end()
      return closed
    }),
  }
})
