/** Files in other encodings, and settings that cannot be sent, with the program itself. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { TestService } from "../../support/TestService.ts"
import { commandLine } from "./world.ts"

const latin1 = (text: string) => Buffer.from(text, "latin1")

layer(TestService.separate, { excludeTestServices: true, timeout: 120_000 })("what a command reads", (it) => {
  it.effect(
    "a file in Latin-1 is refused by every command that reads it, with its name, the place and the remedy",
    () =>
      Effect.gen(function* () {
        const { directory, get, run, write } = yield* commandLine
        write("l.csv", latin1("name,externalCustomerId\nM\xfcller,lat-1\n"))
        write("l.ndjson", latin1('{"name": "M\xfcller", "slug": "lat-2"}\n'))
        write("l.yaml", latin1("entitlements:\n  - { slug: seats, name: Pl\xe4tze, type: NUMBER }\n"))
        write("body.json", latin1('{"name": "M\xfcller"}'))
        write("keys.json", '{"keys": []}')
        write("tokens.txt", latin1("ksh_\xfc\n"))
        mkdirSync(join(directory, "bad/keyshelf"), { recursive: true })
        write("bad/keyshelf/profiles.json", latin1('{"current": "\xfc", "profiles": {}}'))
        const noTarget = { KEYSHELF_URL: "", KEYSHELF_TOKEN: "" }
        for (const [line, name, env] of [
          ["keyshelf import customers l.csv", "l.csv"],
          ["keyshelf import customers - < l.csv", "standard input"],
          ["keyshelf import customers l.ndjson", "l.ndjson"],
          ["keyshelf apply l.yaml --yes", "l.yaml"],
          ["keyshelf apply - --yes < l.yaml", "standard input"],
          ["keyshelf customers create --body @body.json", "body.json"],
          ["keyshelf customers create --body - < body.json", "standard input"],
          ["keyshelf offline verify l.csv --keys keys.json", "l.csv"],
          ["keyshelf offline verify keys.json --keys l.csv", "l.csv"],
          ["keyshelf offline verify keys.json --keys keys.json --revocations l.csv", "l.csv"],
          ["keyshelf audit verify --export l.csv --key urn:keyshelf:log:x+00000000+AA==", "verifier key"],
          ["keyshelf profile set acme --url http://127.0.0.1:9 < tokens.txt", "standard input"],
          ["keyshelf events bridge nats", "tokens.txt", { KEYSHELF_TOKEN: "", KEYSHELF_TOKENS_FILE: "tokens.txt" }],
          ["keyshelf whoami", "profiles.json", { ...noTarget, XDG_CONFIG_HOME: join(directory, "bad") }],
        ] as ReadonlyArray<readonly [string, string, Record<string, string>?]>) {
          const { code, stderr } = yield* run(line, env)
          assert.strictEqual(code, 1, `${line}\n${stderr}`)
          assert.include(stderr, name, line)
          if (name !== "verifier key")
            assert.match(stderr, /line \d+ \(byte \d+\) is not UTF-8\. Save it as UTF-8\./, line)
          assert.notInclude(stderr, "    at ")
        }
        assert.deepStrictEqual((yield* get("/customers")).body.items, [])
      }).pipe(Effect.scoped),
    120_000,
  )

  it.effect(
    "UTF-8 and UTF-16 with a byte order mark are read, in rows, catalogues and tokens",
    () =>
      Effect.gen(function* () {
        const { get, origins, run, token, write } = yield* commandLine
        write("utf16.csv", Buffer.from("\uFEFFname,externalCustomerId\nMüller,u-1\n", "utf16le"))
        write("mark.ndjson", '\uFEFF{"name": "Łódź \u2028", "externalCustomerId": "u-2"}\r\n')
        write("mark.yaml", "\uFEFFentitlements:\n  - { slug: seats, name: Plätze, type: NUMBER }\n")
        write("token.txt", `\uFEFF${token}\r\n`)
        for (const line of [
          "keyshelf import customers utf16.csv",
          "keyshelf import customers mark.ndjson",
          "keyshelf apply mark.yaml --yes",
          `keyshelf profile set acme --url ${origins.core} < token.txt`,
        ]) {
          const { code, stderr } = yield* run(line)
          assert.strictEqual(code, 0, `${line}\n${stderr}`)
        }
        const names = (yield* get("/customers")).body.items.map(({ name }: { readonly name: string }) => name)
        assert.includeMembers(names, ["Müller"])
        assert.isTrue(names.some((name: string) => name.startsWith("Łódź")))
        assert.strictEqual((yield* get("/entitlements")).body.items[0].name, "Plätze")
      }).pipe(Effect.scoped),
    120_000,
  )

  it.effect(
    "a token that no header can have is a wrong setting, which is named without its value",
    () =>
      Effect.gen(function* () {
        const { directory, origins, run, token, write } = yield* commandLine
        const half = token.slice(0, 20)
        const profile = (value: string) =>
          JSON.stringify({ current: "acme", profiles: { acme: { url: origins.core, token: value } } })
        mkdirSync(join(directory, "config/keyshelf"), { recursive: true })
        const refused = Effect.fnUntraced(function* (line: string, setting: string, env: Record<string, string>) {
          const { code, stderr, stdout } = yield* run(line, env)
          assert.strictEqual(code, 1, `${line}\n${stderr}`)
          assert.include(stderr, setting, line)
          assert.notInclude(stdout + stderr, token.slice(4, 20), line)
          assert.notInclude(stdout + stderr, "    at ")
        })
        write("config/keyshelf/profiles.json", profile(`${half}\n${token.slice(20)}`))
        yield* refused("keyshelf whoami", 'The token of the profile "acme" is not one token', {
          KEYSHELF_URL: "",
          KEYSHELF_TOKEN: "",
        })
        const env = { KEYSHELF_TOKEN: `${token}\nx` }
        write("catalog.yaml", "entitlements: []\n")
        write("rows.csv", "name\nA\n")
        for (const line of [
          "keyshelf export",
          "keyshelf customers list --json",
          "keyshelf import customers rows.csv",
          "keyshelf apply catalog.yaml",
          "keyshelf events bridge nats",
          "keyshelf mcp",
        ]) {
          yield* refused(line, "KEYSHELF_TOKEN", env)
        }
        yield* refused("keyshelf demo", "KEYSHELF_PLATFORM_CREDENTIAL", { KEYSHELF_PLATFORM_CREDENTIAL: `${token}\nx` })
        yield* refused('keyshelf demo --credential "$BAD"', "--credential", { BAD: `${token}\nx` })
        yield* refused(`printf '%s\\nx' ${token} | keyshelf profile set b --url ${origins.core}`, "standard input", {})
        write("tokens.txt", `# one\n${token}\n${token} x\n`)
        yield* refused("keyshelf events bridge nats", "Token 2 of KEYSHELF_TOKENS_FILE", {
          KEYSHELF_TOKEN: "",
          KEYSHELF_TOKENS_FILE: "tokens.txt",
        })
        // White space around a token, as at the end of a mounted secret, is nobody's intent.
        const padded = yield* run("keyshelf whoami", { KEYSHELF_TOKEN: ` \t${token}\r\n` })
        assert.strictEqual(padded.code, 0, padded.stderr)
        const key = yield* run('keyshelf customers create --name A --idempotency-key "$KEY"', { KEY: "a\nb" })
        assert.deepStrictEqual(
          [key.code, key.stderr],
          [1, "The value of idempotency-key has a character that a header cannot have.\n"],
        )
      }).pipe(Effect.scoped),
    240_000,
  )

  it.effect(
    "an address that no request can be sent to is a wrong setting, which is named without its value",
    () =>
      Effect.gen(function* () {
        const { origins, run } = yield* commandLine
        const { host } = new URL(origins.core)
        for (const url of [host, `http://user:s3cret@${host}`]) {
          const { code, stderr } = yield* run("keyshelf whoami", { KEYSHELF_URL: url })
          assert.strictEqual(code, 1, `${url}\n${stderr}`)
          assert.match(stderr, /^KEYSHELF_URL .* It must look like https:\/\//, url)
          assert.notInclude(stderr, "s3cret")
        }
        for (const [line, setting] of [
          ["keyshelf profile set acme --url ''", "--url is empty"],
          [`keyshelf profile set acme --url ${host}`, "--url is not an address with http or https"],
          [`keyshelf profile set acme --url http://u:s3cret@${host}`, "--url has a user or a password"],
          ["keyshelf demo --core ftp://a --credential ksm_a", "--core is not an address"],
          ["keyshelf demo --platform a:1 --credential ksm_a", "--platform is not an address"],
        ] as const) {
          const { code, stderr } = yield* run(`echo ksh_x | ${line}`)
          assert.strictEqual(code, 1, `${line}\n${stderr}`)
          assert.include(stderr, setting)
          assert.notInclude(stderr, "s3cret")
        }
      }).pipe(Effect.scoped),
    120_000,
  )
})
