import { assert, describe, it, layer } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Layer, Option } from "effect"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { brotliCompressSync, gunzipSync, gzipSync } from "node:zlib"
import * as Console from "../../src/http/routes/console/Console.ts"
import { CurrentConsoleFiles, read } from "../../src/http/routes/console/ConsoleFiles.ts"
import { policyFor } from "../../src/http/SecurityHeaders.ts"
import * as OpenIdKeys from "../../src/infra/outbound/OpenIdKeys.ts"
import { Settings } from "../../src/infra/Settings.ts"
import { version } from "../../src/infra/Version.ts"
import { CurrentConsoleClient } from "../../src/kernel/ports/IdentityProvider.ts"
import { rawRequest } from "../support/http.ts"
import * as Issuer from "../support/Issuer.ts"
import { sendText } from "../support/rawText.ts"
import { TestService } from "../support/TestService.ts"

const PAGE = `<!doctype html><title>Keyshelf</title><script type="module" src="/console/assets/app-1a2b.js"></script>${"<!-- -->".repeat(200)}`
const SCRIPT = `console.log("${"keyshelf ".repeat(300)}")`
const LATER = `export const later = "${"later ".repeat(300)}"`
const ICON = Buffer.alloc(2048, "icon")

// Weak compression, so that it differs from what the service would make itself.
const GZIPPED = gzipSync(SCRIPT, { level: 1 })
const BROTLI = brotliCompressSync(SCRIPT, { params: {} })

const FILES: Readonly<Record<string, string | Buffer>> = {
  "index.html": PAGE,
  "icon.png": ICON,
  "assets/app-1a2b.js": SCRIPT,
  "assets/app-1a2b.js.gz": GZIPPED,
  "assets/app-1a2b.js.br": BROTLI,
  "assets/later-3c4d.js": LATER,
  ".vite/manifest.json": "{}",
}

/** A folder with a built console. Its name has a space, as the path of an installation may. */
const dist = Effect.acquireRelease(
  Effect.promise(async () => {
    const folder = join(await mkdtemp(join(tmpdir(), "keyshelf console-")), "/")
    for (const [name, content] of Object.entries(FILES)) {
      await mkdir(dirname(join(folder, name)), { recursive: true })
      await writeFile(join(folder, name), content)
    }
    return folder
  }),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true })),
)

class TestIssuer extends Context.Service<TestIssuer, string>()("keyshelf/test/ConsoleIssuer") {}

const WEBHOOKS = "https://webhooks.keyshelf.example/base"

const service = TestService.separate.pipe(
  Layer.provideMerge(
    Layer.effectContext(
      Effect.gen(function* () {
        const { url } = yield* Issuer.start
        const { consoleClient } = OpenIdKeys.make({
          issuer: url,
          audience: Issuer.AUDIENCE,
          organizationClaim: "org_id",
          provisioning: "off",
          jwksUri: Option.none(),
          client: Option.some({ clientId: "console", scope: "openid", parameters: { audience: Issuer.AUDIENCE } }),
        })
        return Context.make(TestIssuer, url).pipe(
          Context.add(CurrentConsoleClient, consoleClient),
          Context.add(Console.WebhooksAddress, WEBHOOKS),
          Context.add(CurrentConsoleFiles, yield* read(pathToFileURL(yield* dist))),
        )
      }),
    ),
  ),
)

const send = (method: string, url: string, headers: Record<string, string> = {}) =>
  Effect.promise(() => rawRequest(method, url, headers))

const get = (url: string, headers: Record<string, string> = {}) => send("GET", url, headers)

const policyWith = (connections: string) =>
  "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-gYiS/BvZvRcK27JIXTuwhZ3hs2+VJ1X+2gUlE+farlg='; " +
  `img-src 'self'; font-src 'self'; connect-src ${connections}; base-uri 'none'; form-action 'none'; ` +
  "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

const SCREENS = ["/console", "/console/", "/console/customers/globex?tab=usage", "/console/signed-in?code=1&state=2"]

layer(service, { excludeTestServices: true })("the console", (it) => {
  it.effect("its configuration needs no credential, and names the sign-in of the provider's discovery document", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const issuer = yield* TestIssuer
      const core = yield* get(`${origins.core}/console/config.json`)
      assert.deepStrictEqual(
        [core.status, JSON.parse(core.bytes.toString())],
        [
          200,
          {
            surface: "core",
            version,
            webhooks: WEBHOOKS,
            oidc: {
              issuer,
              clientId: "console",
              authorizationEndpoint: `${issuer}/authorize`,
              tokenEndpoint: `${issuer}/token`,
              endSessionEndpoint: `${issuer}/logout`,
              scope: "openid",
              parameters: { audience: Issuer.AUDIENCE },
            },
          },
        ],
      )
      assert.strictEqual(core.headers["cache-control"], "no-store")
      const platform = yield* get(`${origins.platform}/console/config.json`)
      const operators = { surface: "platform", version, webhooks: null, oidc: null }
      assert.deepStrictEqual([platform.status, JSON.parse(platform.bytes.toString())], [200, operators])
    }),
  )

  it.effect(
    "its page answers every screen, with a policy that allows the token endpoint and the webhook listener",
    () =>
      Effect.gen(function* () {
        const { origins } = yield* TestService
        const issuer = yield* TestIssuer
        for (const [origin, connections] of [
          [origins.core, `'self' ${issuer} https://webhooks.keyshelf.example`],
          [origins.platform, "'self'"],
        ] as const) {
          for (const path of SCREENS) {
            const { bytes, headers, status } = yield* get(origin + path)
            assert.deepStrictEqual([status, bytes.toString()], [200, PAGE], path)
            assert.strictEqual(headers["content-type"], "text/html; charset=utf-8")
            assert.strictEqual(headers["content-security-policy"], policyWith(connections))
            assert.strictEqual(headers["cache-control"], "no-cache")
          }
        }
      }),
  )

  it.effect("all its files have the headers against foreign frames, windows and guessed types", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      for (const path of [...SCREENS, "/console/config.json", "/console/icon.png", "/console/assets/app-1a2b.js"]) {
        const { headers } = yield* get(origins.core + path)
        assert.include(headers["content-security-policy"], "frame-ancestors 'none'", path)
        assert.strictEqual(headers["x-content-type-options"], "nosniff")
        assert.strictEqual(headers["referrer-policy"], "no-referrer")
        assert.strictEqual(headers["cross-origin-opener-policy"], "same-origin")
        assert.strictEqual(headers["cross-origin-resource-policy"], "same-origin")
        assert.match(String(headers["permissions-policy"]), /^([a-z-]+=\(\), )+[a-z-]+=\(\)$/)
      }
    }),
  )

  it.effect("files with a hash in their name never change, in the codings that the build made", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const url = `${origins.core}/console/assets/app-1a2b.js`
      const tags = new Set<unknown>()
      for (const [accepted, coding, bytes] of [
        ["identity", undefined, Buffer.from(SCRIPT)],
        ["gzip", "gzip", GZIPPED],
        ["gzip, deflate, br", "br", BROTLI],
        ["br;q=0, *", "gzip", GZIPPED],
      ] as const) {
        const sent = yield* get(url, { "accept-encoding": accepted })
        assert.isTrue(sent.bytes.equals(bytes), accepted)
        assert.strictEqual(sent.headers["content-encoding"], coding)
        assert.strictEqual(sent.headers["content-type"], "text/javascript; charset=utf-8")
        assert.strictEqual(sent.headers["content-length"], String(bytes.byteLength))
        assert.strictEqual(sent.headers["cache-control"], "public, max-age=31536000, immutable")
        assert.strictEqual(sent.headers["vary"], "accept-encoding")
        tags.add(sent.headers["etag"])
      }
      assert.strictEqual(tags.size, 3)
      // The build made no codings of this one.
      const later = yield* get(`${origins.core}/console/assets/later-3c4d.js`, { "accept-encoding": "gzip" })
      assert.strictEqual(gunzipSync(later.bytes).toString(), LATER)
    }),
  )

  it.effect("files are sent again only after they changed, and HEAD sends their headers alone", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      for (const path of ["/console/customers", "/console/icon.png", "/console/assets/app-1a2b.js"]) {
        const url = origins.core + path
        const accepts = { "accept-encoding": "br" }
        const full = yield* get(url, accepts)
        const etag = String(full.headers["etag"])
        const again = yield* get(url, { ...accepts, "if-none-match": etag })
        assert.deepStrictEqual([again.status, again.bytes.byteLength, again.headers["etag"]], [304, 0, etag], path)
        assert.strictEqual(again.headers["content-security-policy"], full.headers["content-security-policy"])
        const head = yield* send("HEAD", url, accepts)
        assert.deepStrictEqual([head.status, head.bytes.byteLength], [200, 0], path)
        for (const name of ["etag", "content-length", "content-type", "content-encoding", "cache-control"]) {
          assert.strictEqual(head.headers[name], full.headers[name], `${path}: ${name}`)
        }
      }
      const icon = yield* get(`${origins.core}/console/icon.png`, { "accept-encoding": "br" })
      assert.deepStrictEqual([icon.headers["content-encoding"], icon.bytes.equals(ICON)], [undefined, true])
      assert.deepStrictEqual([icon.headers["content-type"], icon.headers["cache-control"]], ["image/png", "no-cache"])
    }),
  )

  it.effect("the tag of the page changes with its policy, which a browser keeps with the page", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const core = yield* get(`${origins.core}/console`)
      const platform = yield* get(`${origins.platform}/console`)
      assert.isTrue(core.bytes.equals(platform.bytes))
      assert.notStrictEqual(core.headers["etag"], platform.headers["etag"])
    }),
  )

  it.effect("a missing asset is 404, and neither codings nor the build's records can be read by name", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      for (const path of ["app-9f9f.js", "app-1a2b.js.br", "app-1a2b.js.gz", "%2e%2e%2ficon.png", ""]) {
        const missing = yield* core("GET", `/console/assets/${path}`)
        assert.deepStrictEqual([missing.status, missing.body.code], [404, "Request.RouteNotFound"], path)
      }
      assert.strictEqual((yield* core("GET", "/console/.vite/manifest.json")).text, PAGE)
    }),
  )

  it.effect("every response below it and below the documentation has security headers, also errors", () =>
    Effect.gen(function* () {
      const { operator, origins, tenant } = yield* TestService
      const { token } = yield* tenant()
      const replies: Array<readonly [name: string, head: string]> = []
      const send = Effect.fnUntraced(function* (origin: string, line: string, status: number, ...lines: Array<string>) {
        const text = [`${line} HTTP/1.1`, "Host: a", ...lines, "Connection: close", "", ""].join("\r\n")
        const reply = yield* sendText(origin, text)
        assert.strictEqual(reply.status, status, line.slice(0, 60))
        replies.push([line.slice(0, 60), reply.head])
      })
      for (const origin of [origins.core, origins.platform]) {
        for (const path of ["/console/assets/gone.js", "/docs/gone", "/docs/pages/gone", "/openapi/gone.json"]) {
          yield* send(origin, `GET ${path}`, 404)
          yield* send(origin, `HEAD ${path}`, 404)
        }
        for (const path of ["/console", "/console/customers", "/console/config.json", "/docs", "/openapi.json"]) {
          yield* send(origin, `POST ${path}`, 405, "Content-Length: 0")
          yield* send(origin, `GET ${path}`, 400, "Host: b")
          yield* send(origin, `HEAD ${path}`, 200)
          yield* send(origin, `GET ${path}`, 431, `X-A: ${"a".repeat(30_000)}`)
          yield* send(origin, `POST ${path}`, 417, "Expect: 200-ok", "Content-Length: 0")
        }
        yield* send(origin, "GET /console", 304, "If-None-Match: *")
        yield* send(origin, "GET /docs", 304, "If-None-Match: *")
        yield* send(origin, "GET /console\0", 400)
      }
      yield* send(origins.platform, "GET /console", 403, `Authorization: Bearer ${token}`)
      yield* send(
        origins.core,
        "GET /console",
        400,
        `Authorization: Bearer ${token}`,
        `Authorization: Bearer ${operator}`,
      )
      for (const [name, head] of replies) {
        assert.match(head, /^content-security-policy: default-src 'none'.*frame-ancestors 'none'/im, name)
        assert.match(head, /^x-content-type-options: nosniff$/im, name)
        assert.match(head, /^referrer-policy: no-referrer$/im, name)
        assert.lengthOf(head.match(/^content-security-policy:/gim) ?? [], 1, name)
      }
    }),
  )

  it.effect("a browser at the bare address gets to it, a program gets 404", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      for (const origin of [origins.core, origins.platform]) {
        const browser = yield* get(`${origin}/`, { accept: "text/html,application/xhtml+xml,*/*;q=0.8" })
        assert.deepStrictEqual([browser.status, browser.headers["location"]], [303, "console"])
        for (const accept of ["*/*", "application/json"]) {
          assert.strictEqual((yield* get(`${origin}/`, { accept })).status, 404)
        }
      }
    }),
  )

  it.effect("it can only be read, and the platform listener rejects organization tokens as everywhere", () =>
    Effect.gen(function* () {
      const { core, platform, tenant } = yield* TestService
      for (const path of ["/console", "/console/customers", "/console/assets/app-1a2b.js", "/console/config.json"]) {
        const written = yield* core("POST", path, { body: {} })
        assert.deepStrictEqual([written.status, written.headers.get("allow")], [405, "GET, HEAD"], path)
      }
      const { token } = yield* tenant()
      for (const path of ["/console", "/console/config.json"]) {
        const rejected = yield* platform("GET", path, { token })
        assert.deepStrictEqual([rejected.status, rejected.body.code], [403, "Auth.WrongCredentialKind"], path)
      }
    }),
  )
})

describe("the content security policy", () => {
  it("allows the style by which the installed React Aria locks scrolling on iPhones", () => {
    const file = "node_modules/react-aria/dist/private/overlays/usePreventScroll.mjs"
    const source = readFileSync(join(import.meta.dirname, "../..", file), "utf8")
    const [, style] = /style\.textContent = `([^`]+)`\.trim\(\)/.exec(source) ?? []
    assert.isDefined(style)
    const hash = createHash("sha256").update(style.trim()).digest("base64")
    assert.include(policyFor([]), `style-src 'self' 'sha256-${hash}';`)
  })
})

describe("SERVICE_WEBHOOKS_URL", () => {
  const read = (env: Record<string, string>) =>
    Effect.provide(Settings, Layer.fresh(Settings.layer)).pipe(
      Effect.map(({ webhooksUrl }) => Option.getOrUndefined(webhooksUrl)),
      Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(env))),
    )
  const dedicated = { SERVICE_WEBHOOKS_PORT: "8083" }

  it.effect("is the address of a dedicated listener, without the path that all of its endpoints have", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* read(dedicated))
      const url = "https://webhooks.keyshelf.example"
      for (const text of [url, `${url}/`]) {
        assert.strictEqual(yield* read({ ...dedicated, SERVICE_WEBHOOKS_URL: text }), url)
      }
      for (const text of ["webhooks.example", "http://webhooks.example", `${url}/api`, `${url}/api/`, `${url}?a=1`]) {
        const error = yield* Effect.flip(read({ ...dedicated, SERVICE_WEBHOOKS_URL: text }))
        assert.match(error.message, /^SERVICE_WEBHOOKS_URL is not valid: expected an /, text)
      }
      const alone = yield* Effect.flip(read({ SERVICE_WEBHOOKS_URL: url }))
      assert.match(alone.message, /^SERVICE_WEBHOOKS_PORT is missing: /)
    }),
  )
})
