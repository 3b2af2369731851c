import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { rawRequest } from "../support/http.ts"
import { version } from "../../src/infra/Version.ts"
import { TestService } from "../support/TestService.ts"

const REFERENCES = ["/docs", "/docs/core", "/docs/platform", "/docs/webhooks"]
const GUIDES = ["/docs/pages", "/docs/pages/usage", "/docs/pages/adr/0002-dependencies"]
const SCRIPTS = ["/docs/viewer.js", "/docs/start.js", "/docs/search.js"]
const DOCUMENTS = [
  "/openapi.json",
  "/openapi/platform.json",
  "/openapi/webhooks.json",
  "/openapi/catalog.json",
  "/docs/search.json",
]
const ALL = [...REFERENCES, ...GUIDES, ...SCRIPTS, ...DOCUMENTS, "/docs/style.css"]

/** The directives of a content security policy. */
const directivesOf = (policy: string | null) =>
  Object.fromEntries(
    (policy ?? "").split(";").map((directive) => {
      const [name = "", ...sources] = directive.trim().split(" ")
      return [name, sources.join(" ")]
    }),
  )

/** Sends a GET whose response is not decompressed. */
const raw = (url: string, headers: Record<string, string>) => Effect.promise(() => rawRequest("GET", url, headers))

const DECODERS = { br: brotliDecompressSync, gzip: gunzipSync }

layer(TestService.layer, { excludeTestServices: true })("the documentation", (it) => {
  it.effect("its files have a strict policy on every listener, and their types are not guessed", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      for (const origin of [origins.core, origins.platform]) {
        for (const path of ALL) {
          const { headers, status } = yield* raw(origin + path, {})
          assert.strictEqual(status, 200, origin + path)
          const policy = String(headers["content-security-policy"])
          const directives = directivesOf(policy)
          assert.strictEqual(directives["default-src"], "'none'")
          assert.strictEqual(directives["script-src"], "'self'")
          assert.strictEqual(directives["connect-src"], "'self'")
          assert.strictEqual(directives["frame-ancestors"], "'none'")
          assert.strictEqual(directives["style-src"], REFERENCES.includes(path) ? "'self' 'unsafe-inline'" : "'self'")
          assert.notMatch(policy, /https?:|\*|unsafe-eval/)
          assert.strictEqual(headers["x-content-type-options"], "nosniff")
          assert.strictEqual(headers["referrer-policy"], "no-referrer")
        }
      }
    }),
  )

  it.effect("its pages contain no script and load only files of the service", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      for (const path of [...REFERENCES, ...GUIDES]) {
        const { headers, text } = yield* core("GET", path)
        assert.match(headers.get("content-type") ?? "", /^text\/html/)
        const scripts = [...text.matchAll(/<script([^>]*)>([^<]*)/g)]
        assert.isNotEmpty(scripts)
        for (const [, attributes, body] of scripts) {
          const source = / src="([^"]+)"/.exec(attributes ?? "")?.[1] ?? ""
          assert.include(SCRIPTS, new URL(source, `http://service${path}`).pathname)
          assert.strictEqual(body, "")
        }
        assert.notMatch(text, /\son\w+=|javascript:|<(script|link|img|iframe)[^>]+(src|href)="(https?:)?\/\//i)
      }
    }),
  )

  it.effect("links of its guides lead to pages and headings that exist", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const pages = new Map<string, string>()
      const read = Effect.fnUntraced(function* (path: string) {
        const { status, text } = yield* core("GET", path, { headers: { accept: "text/html" } })
        assert.strictEqual(status, 200, path)
        pages.set(path, text)
        return text
      })
      const open = ["/docs/pages"]
      for (let page = open.pop(); page !== undefined; page = open.pop()) {
        const text = pages.get(page) ?? (yield* read(page))
        for (const [, href = ""] of text.matchAll(/(?:<a[^>]* href|<img[^>]* src)="([^"]+)"/g)) {
          const target = new URL(href, `http://service${page}`)
          // This service has no console: `Console.test.ts` serves it.
          if (target.host !== "service" || target.pathname === "/console") continue
          if (!pages.has(target.pathname)) {
            yield* read(target.pathname)
            if (target.pathname.startsWith("/docs/pages") && !target.pathname.endsWith(".svg"))
              open.push(target.pathname)
          }
          const anchor = target.hash.slice(1)
          if (anchor !== "") assert.include(pages.get(target.pathname), ` id="${anchor}"`, `${page}: ${href}`)
        }
      }
      // The start, the guides and what they link to.
      assert.isAbove(pages.size, 30)
      for (const page of pages.values()) assert.notMatch(page, /href="(?!https:)[^"]*\.(md|ts)[#"]/)
    }),
  )

  it.effect("its files are compressed on request, and are sent again only after they changed", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      for (const path of ALL) {
        const plain = yield* raw(origins.core + path, {})
        const tags = new Set([plain.headers["etag"]])
        assert.strictEqual(plain.headers["content-encoding"], undefined)
        assert.strictEqual(plain.headers["cache-control"], "no-cache")
        for (const coding of ["br", "gzip"] as const) {
          const { bytes, headers } = yield* raw(origins.core + path, { "accept-encoding": coding })
          assert.strictEqual(headers["vary"], "accept-encoding")
          assert.strictEqual(headers["content-length"], String(bytes.byteLength))
          const isLarge = plain.bytes.byteLength >= 1024
          assert.strictEqual(headers["content-encoding"], isLarge ? coding : undefined, path)
          if (isLarge) {
            assert.isTrue(DECODERS[coding](bytes).equals(plain.bytes))
            assert.isFalse(tags.has(headers["etag"]))
          }
          tags.add(headers["etag"])
          const etag = String(headers["etag"])
          for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*", etag.replace(/"$/, '-gzip"')]) {
            const again = yield* raw(origins.core + path, { "accept-encoding": coding, "if-none-match": known })
            assert.deepStrictEqual([again.status, again.bytes.byteLength, again.headers["etag"]], [304, 0, etag])
          }
        }
        const changed = yield* raw(origins.core + path, { "if-none-match": '"other"' })
        assert.deepStrictEqual([changed.status, changed.bytes.equals(plain.bytes)], [200, true])
      }
    }),
  )

  it.effect("a browser at the bare address gets to it, a program gets 404", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      for (const origin of [origins.core, origins.platform]) {
        const browser = yield* raw(`${origin}/`, { accept: "text/html,application/xhtml+xml,*/*;q=0.8" })
        assert.deepStrictEqual([browser.status, browser.headers["location"]], [303, "docs"])
        for (const accept of ["*/*", "application/json"]) {
          assert.strictEqual((yield* raw(`${origin}/`, { accept })).status, 404)
        }
      }
      assert.strictEqual((yield* raw(`${origins.core}/docs/pages/nowhere`, {})).status, 404)
    }),
  )

  it.effect("without a built console there is nothing at its paths but the configuration", () =>
    Effect.gen(function* () {
      const { core, origins } = yield* TestService
      for (const path of ["/console", "/console/", "/console/customers", "/console/assets/app.js"]) {
        assert.strictEqual((yield* raw(origins.core + path, { accept: "text/html" })).status, 404, path)
      }
      const { body, status } = yield* core("GET", "/console/config.json")
      assert.deepStrictEqual([status, body], [200, { surface: "core", version, webhooks: "", oidc: null }])
    }),
  )

  it.effect("the platform listener serves it without a credential, and rejects organization tokens as everywhere", () =>
    Effect.gen(function* () {
      const { origins, tenant } = yield* TestService
      const { token } = yield* tenant()
      const page = yield* raw(`${origins.platform}/docs`, {})
      assert.include(page.bytes.toString(), 'data-document="openapi/platform.json"')
      assert.strictEqual((yield* raw(`${origins.platform}/docs`, { authorization: `Bearer ${token}` })).status, 403)
    }),
  )
})
