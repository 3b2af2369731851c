import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { readDefinitions } from "../../../src/cli/remote/mcp/Definitions.ts"
import { linesOf, readLine } from "../../../src/cli/remote/mcp/Messages.ts"
import { toolOf } from "../../../src/cli/remote/mcp/Server.ts"

const MAX_DESCRIPTION = 1_024

const read = (text: string) => readLine(Buffer.from(text))

describe("the messages of an assistant", () => {
  it("are requests and notifications, also with CRLF or a byte order mark; empty lines are none", () => {
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" }
    for (const text of [JSON.stringify(ping), `${JSON.stringify(ping)}\r`, `\uFEFF${JSON.stringify(ping)}`]) {
      assert.deepStrictEqual(read(text), { message: JSON.stringify(ping) })
    }
    for (const text of ["", " ", "\r", '{"jsonrpc":"2.0","id":1,"result":{}}']) assert.isUndefined(read(text))
  })

  it("are answered with -32700 if they are not JSON in UTF-8, and with -32600 if they are no requests", () => {
    for (const [text, id, code] of [
      ["not json", null, -32_700],
      ['{"jsonrpc":"2.0",', null, -32_700],
      ["[]", null, -32_600],
      ["[1]", null, -32_600],
      ["null", null, -32_600],
      ['"ping"', null, -32_600],
      ['{"jsonrpc":"1.0","id":4,"method":"ping"}', 4, -32_600],
      ['{"id":4,"method":"ping"}', 4, -32_600],
      ['{"jsonrpc":"2.0","id":"a"}', "a", -32_600],
      ['{"jsonrpc":"2.0","id":5,"method":7}', 5, -32_600],
      ['{"jsonrpc":"2.0","id":null,"method":"ping"}', null, -32_600],
      ['{"jsonrpc":"2.0","id":{},"method":"ping"}', null, -32_600],
      ['{"jsonrpc":"2.0","id":6,"method":"ping","params":1}', 6, -32_600],
    ] as const) {
      const line = read(text)
      assert.isTrue(line !== undefined && "bad" in line, text)
      if (line !== undefined && "bad" in line) assert.deepInclude(line.bad, { id, code }, text)
    }
    assert.deepInclude(readLine(Buffer.from([0x22, 0xff, 0x22])), {
      bad: { id: null, code: -32_700, message: "The line is not JSON in UTF-8." },
    })
  })

  it.effect("are lines, whatever parts they arrive in, and the last one needs no line feed", () =>
    Effect.gen(function* () {
      const bytes = Buffer.from("a\nbü😀\r\n\nlast")
      for (let size = 1; size <= bytes.length; size++) {
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
          bytes.subarray(n * size, (n + 1) * size),
        )
        const lines = yield* Stream.runCollect(linesOf(Stream.fromIterable(chunks)))
        assert.deepStrictEqual(
          Array.from(lines, (line) => Buffer.from(line).toString()),
          ["a", "bü😀\r", "", "last"],
        )
      }
    }),
  )

  it("no tool has a longer description than assistants take", () => {
    for (const tool of readDefinitions().map(toolOf)) {
      assert.isAtMost(tool.description?.length ?? 0, MAX_DESCRIPTION, tool.name)
    }
  })
})
