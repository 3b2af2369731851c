/** What a command says when a proxy, a gateway or another server responds instead of the service. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { localServer } from "../../support/LocalServer.ts"
import { shell } from "../shell.ts"

const TOKEN = "ksh_abcdefghijklmnopqrstuvwxyz0123456789-_ABCDE"
const PAGE = "<html><body>Sign in to this network</body></html>"
const UNAVAILABLE = 6

const problem = (status: number, code: string) =>
  JSON.stringify({
    type: `urn:keyshelf:problem:${code}`,
    title: "T",
    status,
    code,
    detail: "The detail of the service.",
    errorId: "01890000-0000-7000-8000-000000000001",
    errors: [],
    instance: "/api/customers",
  })

/** Responses to any request, and the exit code that follows. */
const cases: ReadonlyArray<readonly [name: string, status: number, type: string, body: string, exit: number]> = [
  ...[400, 401, 403, 404, 409, 413, 422, 500].map(
    (status) => [`${status} as a page`, status, "text/html", PAGE, UNAVAILABLE] as const,
  ),
  ["200 as a page", 200, "text/html", PAGE, UNAVAILABLE],
  ["200 as a text", 200, "text/plain", "ok", UNAVAILABLE],
  ["200 without a body", 200, "application/json", "", UNAVAILABLE],
  ["204 where a body is promised", 204, "application/json", "", UNAVAILABLE],
  ["a redirect", 302, "text/html", PAGE, UNAVAILABLE],
  ["403 in JSON of another kind", 403, "application/json", '{"message": "Forbidden"}', UNAVAILABLE],
  ["404 in another problem document", 404, "application/problem+json", '{"title": "Not found"}', UNAVAILABLE],
  ["403 of the service", 403, "application/problem+json", problem(403, "Auth.MissingScope"), 4],
  ["404 of the service", 404, "application/problem+json", problem(404, "Customer.NotFound"), 5],
  ["409 of the service", 409, "application/problem+json", problem(409, "CreateCustomer.SlugTaken"), 2],
]

describe("a response that is not of the service", () => {
  it.live(
    "is no service rather than a missing record or a wrong credential; problems of the service stay what they are",
    () =>
      Effect.gen(function* () {
        let current = cases[0]
        const other = yield* localServer((_, response) => response.writeHead(200).end())
        const server = yield* localServer((_, response) => {
          const [, status = 500, type = "", body = ""] = current ?? []
          response
            .writeHead(status, { "content-type": type, ...(status === 302 ? { location: other.url } : {}) })
            .end(body)
        })
        const env = { KEYSHELF_URL: server.url, KEYSHELF_TOKEN: TOKEN }
        for (const one of cases) {
          current = one
          const [name, status, , , exit] = one
          const line = status === 409 ? "keyshelf customers create --name Acme" : "keyshelf customers get acme"
          const { code, stderr, stdout } = yield* shell(line, env)
          assert.deepStrictEqual([code, stdout], [exit, ""], `${name}: ${stderr}`)
          assert.notInclude(stderr, TOKEN)
          assert.notInclude(stderr, "<html>")
          if (exit === UNAVAILABLE) assert.include(stderr, "not as Keyshelf does", name)
          else assert.include(stderr, "The detail of the service.", name)
        }
        assert.deepStrictEqual(other.asked, [], "a redirect is not followed")
      }).pipe(Effect.scoped),
    240_000,
  )
})
