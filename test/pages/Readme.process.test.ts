/** What the README and the comparison say of the product is what the product is. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { readOperationList } from "../../src/cli/remote/Operations.ts"
import { runNode } from "../support/runNode.ts"

const root = resolve(import.meta.dirname, "../..")
const read = (page: string) => readFileSync(join(root, page), "utf8")
const readme = read("README.md")

/** The text between a heading and the next one of its level. */
const section = (page: string, heading: string): string => {
  const [, rest] = page.split(`\n## ${heading}\n`)
  assert.isDefined(rest, `there is no section "${heading}"`)
  return rest?.split("\n## ")[0] ?? ""
}

/** The cells of each row of a text's tables, headings included. */
const rowsOf = (text: string): ReadonlyArray<ReadonlyArray<string>> =>
  text
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) =>
      line
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim()),
    )

const codeIn = (text: string) => Array.from(text.matchAll(/`([^`]+)`/g), ([, code]) => code ?? "")

/** A path with its parameters unnamed, so that the names of one parameter do not matter: `/instances/{}/check`. */
const shape = (path: string) => path.replace(/^\/api/, "").replaceAll(/\{[^}]*\}/g, "{}")

const { operations } = readOperationList()

const pathsOf = (name: string): ReadonlyArray<string> =>
  operations.filter(({ api }) => api === name).map(({ path }) => shape(path))

/**
 * The paths that a text names, as groups of real paths. `/a` names itself and `/a/{}`; one in parentheses belongs to the path before it,
 * with or without a parameter between: `/a` (`/b`) names `/a/b` and `/a/{}/b` too.
 */
const namedIn = (text: string): ReadonlyArray<ReadonlyArray<string>> => {
  let base = ""
  return Array.from(text.matchAll(/[()]|`(\/[^`]+)`/g)).reduce<{
    readonly inside: boolean
    readonly named: ReadonlyArray<ReadonlyArray<string>>
  }>(
    ({ inside, named }, [token, path]) => {
      if (path === undefined) return { inside: token === "(", named }
      if (!inside) base = shape(path)
      const own = inside ? [`${base}${shape(path)}`, `${base}/{}${shape(path)}`] : [base]
      return { inside, named: [...named, own.flatMap((each) => [each, `${each}/{}`])] }
    },
    { inside: false, named: [] },
  ).named
}

/** Each real path begins with one that the text names, and each path that it names is the beginning of a real one. */
const expectNamed = (text: string, apis: ReadonlyArray<string>) => {
  const real = apis.flatMap(pathsOf)
  const named = namedIn(text)
  const isUnder = (path: string, start: string) => `${path}/`.startsWith(`${start}/`)
  assert.deepStrictEqual(
    real.filter((path) => !named.flat().some((start) => isUnder(path, start))),
    [],
    "the README names no beginning of these paths of the service",
  )
  const unknown = named.filter((group) => !group.some((path) => real.some((each) => isUnder(each, path))))
  assert.deepStrictEqual(unknown, [], "the service has no such path of the README")
}

describe("the README", () => {
  it("names where each path of the core and webhook APIs begins, and no other", () => {
    const rows = rowsOf(section(readme, "The API")).filter(
      ([area]) => !["core", "platform", "internal", "webhooks"].includes(area ?? ""),
    )
    expectNamed(rows.map(([, paths]) => paths).join("\n"), ["core", "webhooks"])
  })

  it("names where each path of the platform API begins, and no other", () => {
    const text = /The platform listener serves ([\s\S]*?)\n\n/.exec(readme)?.[1] ?? ""
    expectNamed(text, ["platform"])
  })

  it("lists each command of the command line once, and no other", async () => {
    const { code, stderr, stdout } = await runNode(["bin/keyshelf.mjs", "--help"], { cwd: root, env: process.env })
    assert.strictEqual(code, 0, stderr)
    const listed = rowsOf(section(readme, "Commands")).flatMap(([, commands]) => codeIn(commands ?? ""))
    const [, subcommands = ""] = stdout.split("Run the service:")
    const commands = Array.from(subcommands.matchAll(/^ {2}([a-z][a-z-]*) +\S/gm), ([, name]) => name)
    assert.isAbove(commands.length, 30)
    assert.sameMembers(listed, commands)
  })

  it("shows a picture that exists", () => {
    const pictures = Array.from(readme.matchAll(/!\[[^\]]+\]\(([^)]+)\)/g), ([, file]) => file ?? "")
    assert.isAbove(pictures.length, 0)
    for (const picture of pictures) assert.isTrue(existsSync(join(root, picture)), picture)
  })

  it("says which Node.js and which library npm needs, as package.json and its first script have it", () => {
    const manifest = JSON.parse(read("package.json"))
    assert.include(manifest.scripts.preinstall, "libatomic1")
    assert.include(readme, "`libatomic1`")
  })
})

describe("the comparison", () => {
  const rows = rowsOf(section(readme, "How it compares"))
  const cell = (name: string) => rows.find(([row]) => row === name)?.[1]

  it("says of clients, console, API and license what the project has", () => {
    const languages: Record<string, string> = { go: "Go", python: "Python", typescript: "TypeScript" }
    const clients = readdirSync(join(root, "clients")).filter((folder) => folder !== "vectors")
    assert.sameMembers(
      cell("Client libraries")?.split(", ") ?? [],
      clients.map((folder) => languages[folder] ?? folder),
    )
    assert.strictEqual(cell("Console"), existsSync(join(root, "console")) ? "yes" : "**no**")
    assert.strictEqual(cell("License"), JSON.parse(read("package.json")).license)
    const paths = ["core", "platform", "webhooks"].flatMap(pathsOf).join("\n")
    const served: ReadonlyArray<readonly [row: string, path: RegExp]> = [
      ["Licenses and entitlements", /^\/licenses\/\{\}\/entitlements$/m],
      ["Usage against limits", /^\/instances\/\{\}\/check$/m],
      ["Feature flags", /^\/feature-flags$/m],
      ["Which release runs where", /\/deployments$/m],
      ["Webhooks, self-hosted", /^\/webhooks$/m],
      ["Proofs of the audit trail", /^\/events\/\{\}\/proof$/m],
      ["License keys, signed or offline", /\/offline-bundles$/m],
      ["Activation of devices, floating licenses", /\/leases$/m],
      ["GraphQL", /graphql/im],
      ["Prices, invoices or payments", /^\/(prices|invoices|payments)/m],
    ]
    for (const [row, path] of served) assert.strictEqual(cell(row) !== "**no**", path.test(paths), row)
  })

  it("gives a reason on its page for each row that says no", () => {
    const words: Record<string, RegExp> = {
      "Hosted service": /hosted service/i,
      "Prices, invoices or payments": /prices, invoices/i,
      "Distribution of artifacts": /distribution/i,
      "Installers or agents": /installs nothing/i,
      "Customer portal": /customer portal/i,
      GraphQL: /GraphQL/,
      Experiments: /experiments/i,
    }
    const page = section(read("docs/comparison.md"), "What Keyshelf does not have")
    const missing = rows.filter(([, ours]) => ours === "**no**").map(([name]) => name ?? "")
    assert.sameMembers(Object.keys(words), missing)
    for (const [row, word] of Object.entries(words)) assert.match(page, word, row)
    for (const has of ["Console", "TypeScript", "Python"])
      assert.notMatch(page, new RegExp(`^- \\*\\*(A )?${has}`, "m"))
  })
})
