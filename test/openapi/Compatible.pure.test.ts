import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { version } from "../../release/Version.ts"
import type { Schema } from "../support/schemas.ts"
import { namesInRequests } from "../../src/openapi/ResponseSchemas.ts"
import { operationsOf } from "./documents.ts"
import { breaksBetween } from "./compatible.ts"
import { additions } from "./additions.ts"
import { changed } from "./mutation.ts"
import { mutants } from "./mutants.ts"
import { apis, byVersion, changes, current, findings, released, versions } from "./releasedDocuments.ts"

const newest = versions().at(-1) ?? ""

describe("the API", () => {
  it("breaks no client of the newest released version, except where openapi/changes.json gives a reason", () => {
    const [before, after] = [released(newest), current()]
    const breaks = apis.flatMap((api) => breaksBetween(before[api], after[api]))
    assert.deepStrictEqual(findings(breaks, changes(), { newest, version: version() }), [])
  })

  it("has the documents of each released version, under its version", () => {
    assert.isNotEmpty(versions())
    for (const each of versions()) {
      for (const [api, { info }] of Object.entries<{ readonly info?: unknown }>(released(each))) {
        assert.propertyVal(info, "version", each, api)
      }
    }
  })

  it("deprecates what docs/versions.md says, and no operation before its headers and its last use exist", () => {
    const page = readFileSync(resolve(import.meta.dirname, "../../docs/versions.md"), "utf8")
    const deprecated = Object.values(current()).filter((document) =>
      JSON.stringify(document).includes('"deprecated":true'),
    )
    assert.lengthOf(deprecated, 0, "build the headers Deprecation and Sunset, and the counter of uses, first")
    assert.include(page, "\nNothing is deprecated today.\n")
  })

  it("lists breaks after released versions only", () => {
    for (const { after, path } of changes()) assert.include(versions(), after, path)
  })
})

describe("the comparison of two versions", () => {
  const documents = current()

  it.each(mutants)("rejects the change: $name", (mutant) => {
    const breaks = breaksBetween(documents[mutant.api], changed(documents[mutant.api], mutant))
    const said = breaks.map(({ path, what }) => `${path} ${what}`)
    assert.isTrue(
      said.some((text) => text.startsWith(mutant.noticed ?? "")),
      said.join("\n"),
    )
  })

  it.each(additions)("accepts $name", (mutant) => {
    assert.deepStrictEqual(breaksBetween(documents[mutant.api], changed(documents[mutant.api], mutant)), [])
  })

  it("says of a changed component once what changed, not for each operation that uses it", () => {
    const mutant = mutants.find(({ name }) => name === "a response property is gone")
    assert.isDefined(mutant)
    assert.lengthOf(breaksBetween(documents.core, changed(documents.core, mutant)), 1)
  })

  it.each(apis)("notices each operation of %s that is gone", (api) => {
    const document = documents[api] as { readonly paths: object }
    const gone = operationsOf(document).map(([path]) => ({ path, what: "is gone" }))
    assert.deepStrictEqual(breaksBetween(documents[api], { ...documents[api], paths: {} }).slice(0, gone.length), gone)
  })

  it.each(apis)("notices in each component of %s the property that is gone", (api) => {
    const removed: Array<string> = []
    const extended =
      JSON.stringify(documents[api])
        .match(/"allOf":\[\{"\$ref":"[^"]+"/g)
        ?.join() ?? ""
    const after = changed(documents[api], {
      api,
      name: "",
      change: ({ components: { schemas } }) => {
        for (const [name, { properties = {} }] of Object.entries<Schema>(schemas)) {
          // A property that leads to another component would hide that one; what others extend is compared as a part of those.
          const first = Object.keys(properties).find((key) => !JSON.stringify(properties[key]).includes('"$ref"'))
          if (first === undefined || extended.includes(`/${name}"`)) continue
          delete properties[first]
          removed.push(`${name}.${first}`)
        }
      },
    })
    const noticed = new Set(breaksBetween(documents[api], after).map(({ path }) => path))
    assert.isAbove(removed.length, 20)
    assert.deepStrictEqual(
      removed.filter((path) => !noticed.has(path)),
      [],
    )
  })
})

describe("the comparison of requests", () => {
  it.each(apis)("notices in each component of requests of %s a further required property", (api) => {
    const document = current()[api]
    const names = namesInRequests(document)
    const required: Array<string> = []
    const after = changed(document, {
      api,
      name: "",
      change: ({ components: { schemas } }) => {
        for (const [name, schema] of Object.entries<Schema>(schemas)) {
          if (!names.has(name) || schema.properties === undefined) continue
          schema.properties.further = { type: "string" }
          schema.required = [...(schema.required ?? []), "further"]
          required.push(`${name}.further`)
        }
      },
    })
    const noticed = new Set(breaksBetween(document, after).map(({ path }) => path))
    assert.isNotEmpty(required)
    assert.deepStrictEqual(
      required.filter((path) => !noticed.has(path)),
      [],
    )
  })
})

describe("breaks that are meant", () => {
  const gone = { path: "get /api/customers", what: "is gone" }
  const listed = { after: "0.2.0", path: gone.path, reason: "Replaced by accounts" }

  it("need an entry with their path and a reason, for the version that they come after", () => {
    const next = { newest: "0.2.0", version: "0.3.0" }
    assert.deepStrictEqual(findings([gone], [listed], next), [])
    assert.match(findings([gone], [], next).join(), /^get \/api\/customers is gone: undo it/)
    assert.match(findings([gone], [{ ...listed, after: "0.1.0" }], next).join(), /is gone: undo it/)
    assert.match(findings([gone], [{ ...listed, reason: " " }], next).join(), /has no reason/)
  })

  it("are entries only as long as they break something", () => {
    const found = findings([], [listed], { newest: "0.2.0", version: "0.3.0" })
    assert.match(found.join(), /lists get \/api\/customers, which does not break/)
  })

  it("need a new major version from 1.0 on", () => {
    const entry = { ...listed, after: "1.4.0" }
    assert.match(findings([gone], [entry], { newest: "1.4.0", version: "1.5.0" }).join(), /new major version/)
    assert.deepStrictEqual(findings([gone], [entry], { newest: "1.4.0", version: "2.0.0" }), [])
  })

  it("are compared with the newest version, by numbers", () => {
    assert.deepStrictEqual(["0.10.0", "1.0.0", "0.9.1", "0.9.0"].toSorted(byVersion), [
      "0.9.0",
      "0.9.1",
      "0.10.0",
      "1.0.0",
    ])
  })
})
