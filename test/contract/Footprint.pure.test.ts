/** How many places an endpoint is written in. What can be derived from its definition is derived (openapi/operations.json). */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { readOperationList } from "../../src/cli/remote/Operations.ts"

const root = resolve(import.meta.dirname, "../..")

/** Handwritten files of the product. Those that call it as its users do, such as pages of the console and the demo, call what they show. */
const files = ["src", "clients/typescript/src", "bin"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(ts|mjs)$/.test(file) && !/^demo\/|generated/.test(file))
    .map((file) => ({ path: `${folder}/${file}`, text: readFileSync(join(root, folder, file), "utf8") })),
)

const MAX_OUTSIDE = 2

/** The files that name an operation by its id, or by its whole path. */
const naming = ({ id, path }: { readonly id: string; readonly path: string }) => {
  const template = path.replace(/^\/api/, "").replaceAll(/\{(\w+)\}/g, ":$1")
  const names = [`"${id}"`, ` ${id}: `, `"${path}"`, `"${path.replaceAll(/\{(\w+)\}/g, ":$1")}"`, `"${template}"`]
  return files.filter(({ text }) => names.some((name) => text.includes(name))).map((file) => file.path)
}

describe("an endpoint", () => {
  const { operations } = readOperationList()

  it("is written in the folder of its domain, and in at most two files outside of it", () => {
    for (const operation of operations) {
      const outside = naming(operation).filter((path) => !path.startsWith("src/domains/"))
      assert.isAtMost(outside.length, MAX_OUTSIDE, `${operation.id}: ${outside.join(", ")}`)
    }
  })

  it("such as that of offline ledgers has its command, and is nowhere else but in its domain", () => {
    const ledgers = operations.filter(({ path }) => path.endsWith("/offline-ledgers"))
    assert.deepStrictEqual(
      ledgers.map(({ id }) => id),
      ["listOfflineLedgers"],
    )
    assert.deepStrictEqual(ledgers.flatMap(naming).toSorted(), [
      "src/cli/remote/catalog/OperationsNouns.ts",
      "src/domains/offline/ledgers/Api.ts",
    ])
  })
})
