/** Pages name files until the project has public addresses: an address that is not the project's could become someone else's. */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../..")
const read = (page: string) => readFileSync(join(root, page), "utf8")

const addresses: Readonly<Record<string, string | null>> = JSON.parse(read("release/addresses.json"))

const markdownIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md") && !name.includes("node_modules"))
    .map((name) => join(folder, name))

const pages = [
  "README.md",
  "SECURITY.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...["docs", "clients", "examples"].flatMap(markdownIn),
]

/** Something that begins like a host and has the product's name after it: `ghcr.io/acme/keyshelf`, `https://github.com/acme/keyshelf`. */
const ADDRESS = /(?:\b[a-z]+:\/\/)?(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:\/[\w.~-]+)*\/keyshelf(?![\w-])[\w./:@~-]*/gi

/** Names that belong to no one (RFC 2606, RFC 6761), or to everyone's own network. */
const RESERVED = /^(?:[\w-]+\.)*(?:example|invalid|test|localhost|internal|example\.(?:com|org|net))$/i

/** An address without its scheme. */
const bare = (address: string): string => address.replace(/^[a-z]+:\/\//i, "")

const hostOf = (address: string): string => bare(address).split(/[/:]/)[0] ?? ""

/** The addresses in a text that are not in the list. */
const foreignIn = (text: string, known: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...text.matchAll(ADDRESS)]
    .map(([address]) => address.replace(/[.,:]+$/, ""))
    .filter((address) => !RESERVED.test(hostOf(address)))
    .filter((address) => !/\.(?:md|ts|conf|service|json|env|py|go|js)$/.test(hostOf(address)))
    .filter(
      (address) => !known.some((each) => bare(address) === bare(each) || bare(address).startsWith(`${bare(each)}/`)),
    )

describe("public addresses", () => {
  it("are the repository, the image, the chart and the module for Go, as soon as there are some", () => {
    assert.deepStrictEqual(Object.keys(addresses), ["repository", "image", "chart", "goModule"])
    for (const [name, address] of Object.entries(addresses)) {
      if (address !== null) assert.isFalse(RESERVED.test(hostOf(address)), name)
    }
  })

  it("of the product are named by pages only if they are in release/addresses.json", () => {
    const known = Object.values(addresses).filter((address) => address !== null)
    assert.isAbove(pages.length, 40)
    assert.deepStrictEqual(
      pages.flatMap((page) => foreignIn(read(page), known).map((address) => `${page}: ${address}`)),
      [],
    )
  })

  it("of others are found, those that are reserved or listed are not", () => {
    for (const text of [
      "Clone https://github.com/acme/keyshelf.",
      "docker pull ghcr.io/acme/keyshelf:0.2.0",
      "helm install keyshelf oci://ghcr.io/acme/charts/keyshelf",
      "go get github.com/acme/keyshelf/clients/go",
    ]) {
      assert.lengthOf(foreignIn(text, []), 1, text)
      assert.deepStrictEqual(foreignIn(text, [hostOf(foreignIn(text, [])[0] ?? "")]), [], text)
    }
    for (const text of [
      "skopeo copy docker://registry.example/keyshelf:<version>",
      "https://example.com/keyshelf-events",
      "go get keyshelf.example/keyshelf",
      "https://keyshelf.example.com/api",
      "deploy/nginx/keyshelf.conf",
    ]) {
      assert.deepStrictEqual(foreignIn(text, []), [], text)
    }
  })
})
