import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { originOf, tokenOf } from "../../../src/cli/remote/connection/TargetRules.ts"

const TOKEN = `ksh_${"Secret7-".repeat(5)}abc`

describe("a credential of the command line", () => {
  it.effect("is one word of visible ASCII; white space around it does not count", () =>
    Effect.gen(function* () {
      for (const text of [TOKEN, ` \t${TOKEN}\r\n`, "eyJhbGciOi.J9.a_b-c", "abc+/~=="]) {
        assert.strictEqual(Redacted.value(yield* tokenOf("KEYSHELF_TOKEN", text)), text.trim())
      }
    }),
  )

  it.effect("is refused otherwise, with the setting and the place, and never with its value", () =>
    Effect.gen(function* () {
      for (const [text, what] of [
        [`${TOKEN}\nx`, `a line break as character ${TOKEN.length + 1}`],
        [`${TOKEN.slice(0, 9)}\r\n${TOKEN.slice(9)}`, "a line break as character 10"],
        [`\uFEFF${TOKEN}`, "a byte order mark as character 1"],
        [`${TOKEN}\uFEFF`, "a byte order mark"],
        [`${TOKEN}é`, "a character that is not ASCII"],
        [`😀${TOKEN}`, "a character that is not ASCII as character 1"],
        [`${TOKEN}\u0007`, "a control character"],
        [`${TOKEN}\u0000`, "a control character"],
        [`\u00a0${TOKEN}`, "white space as character 1"],
        [`Bearer ${TOKEN}`, "white space as character 7"],
        ["", "is empty"],
        [" \n", "is empty"],
      ] as const) {
        const { message } = yield* Effect.flip(tokenOf("KEYSHELF_TOKEN", text))
        assert.match(message, /^KEYSHELF_TOKEN is /)
        assert.include(message, what)
        assert.notInclude(message, "Secret7")
      }
    }),
  )
})

describe("the address of a service", () => {
  it.effect("is an origin with http or https; the path of an API at its end does not count", () =>
    Effect.gen(function* () {
      for (const [text, expected] of [
        ["https://keyshelf.example.com", "https://keyshelf.example.com"],
        [" http://127.0.0.1:8080/\n", "http://127.0.0.1:8080"],
        ["HTTP://[::1]:8080/api", "http://[::1]:8080"],
        ["https://example.com/keyshelf/api/platform/", "https://example.com/keyshelf"],
      ] as const) {
        assert.strictEqual(yield* originOf("--url", text), expected)
      }
    }),
  )

  it.effect("is refused otherwise, with the setting and what to write, and never with its value", () =>
    Effect.gen(function* () {
      for (const [text, what] of [
        ["", "is empty"],
        ["s3cret.example.com:28000", "is not an address with http or https"],
        ["127.0.0.1:28000", "is not an address with http or https"],
        ["localhost:8080", "is not an address with http or https"],
        ["ftp://s3cret", "is not an address with http or https"],
        ["file:///etc/s3cret", "is not an address with http or https"],
        ["http://", "is not an address with http or https"],
        ["http:///api", "is not an address with http or https"],
        ["https:s3cret", "is not an address with http or https"],
        ["http://s3cr\net", "is not an address with http or https"],
        ["\uFEFFhttp://s3cret", "is not an address with http or https"],
        ["http://a s3cret", "is not an address with http or https"],
        ["http://a:99999", "is not an address with http or https"],
        ["http://user:s3cret@a", "has a user or a password before the host"],
        ["http://:s3cret@a", "has a user or a password before the host"],
        ["http://s3cret@a/api", "has a user or a password before the host"],
        ["http://a/?token=s3cret", "has a query or a fragment"],
        ["http://a/#s3cret", "has a query or a fragment"],
      ] as const) {
        const { message } = yield* Effect.flip(originOf("KEYSHELF_URL", text))
        assert.strictEqual(
          message,
          `KEYSHELF_URL ${what}. It must look like https://keyshelf.example.com or http://127.0.0.1:8080.`,
        )
      }
    }),
  )
})
