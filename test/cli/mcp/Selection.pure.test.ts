import { assert, describe, it } from "@effect/vitest"
import { definitionsFor } from "../../../src/cli/remote/mcp/Callers.ts"
import type { ToolCaller } from "../../../src/cli/remote/mcp/Callers.ts"
import { readDefinitions } from "../../../src/cli/remote/mcp/Definitions.ts"
import { isRead, toolsFor, WITHOUT_TOOL } from "../../../src/cli/remote/mcp/Selection.ts"
import { CANNOT_BE_CHANGED } from "../../../src/kernel/contract/Rewritable.ts"
import { coreDocument, operationsOf } from "../../openapi/documents.ts"

const definitions = readDefinitions()
const everyScope = [...new Set(definitions.flatMap(({ scopes }) => scopes))]
const namesFor = (scopes: ReadonlyArray<string>, write: boolean) =>
  toolsFor(definitions, { scopes, write }).map(({ id }) => id)

describe("the tools for assistants", () => {
  it("each operation of the Core API is a tool, or on the list with a reason", () => {
    const tools = namesFor(everyScope, true)
    const operations = operationsOf(coreDocument).map(([, { operationId }]) => operationId)
    assert.isAbove(tools.length, 100)
    assert.deepStrictEqual([...tools, ...Object.keys(WITHOUT_TOOL)].toSorted(), operations.toSorted())
  })

  it("without --write, tools read, and a POST among them is a question", () => {
    const tools = toolsFor(definitions, { scopes: everyScope, write: false })
    assert.deepStrictEqual(
      tools
        .filter(({ method }) => method !== "GET")
        .map(({ id }) => id)
        .toSorted(),
      ["checkInstance", "dryRunMetadataField", "evaluateFlag", "evaluateFlags"],
    )
    for (const { id, scopes } of tools) {
      if (id !== "dryRunMetadataField")
        assert.isEmpty(
          scopes.filter((scope) => scope.startsWith("write:")),
          id,
        )
    }
  })

  it("a license key has the tools that it may call, and only admins have those for admins", () => {
    const scopes = ["read:instances", "write:instances", "read:feature_flags", "read:licenses"]
    const namesOf = (caller: ToolCaller) =>
      toolsFor(definitionsFor(definitions, caller), { scopes, write: true })
        .map(({ id }) => id)
        .toSorted()
    const tools = namesOf({ kind: "INSTANCE" })
    assert.includeMembers(tools, [
      "getMe",
      "getInstance",
      "checkInstance",
      "reportUsage",
      "acquireLease",
      "evaluateFlag",
    ])
    for (const id of ["listInstances", "createInstance", "listLicenses", "listFeatureFlags", "deleteInstance"]) {
      assert.notInclude(tools, id)
    }
    const everything = namesFor(everyScope, true)
    const namesWithEveryScope = (caller: ToolCaller) =>
      toolsFor(definitionsFor(definitions, caller), { scopes: everyScope, write: true }).map(({ id }) => id)
    for (const caller of [
      { kind: "SERVICE_ACCOUNT", role: null },
      { kind: "PERSON", role: "ADMIN" },
      { kind: "PLATFORM" },
    ]) {
      assert.deepStrictEqual(namesWithEveryScope(caller), everything)
    }
    const member = namesWithEveryScope({ kind: "PERSON", role: "MEMBER" })
    assert.isAbove(everything.length, member.length)
    assert.notInclude(member, "createMetadataField")
  })

  it("the scopes of the token decide which tools there are", () => {
    const tools = namesFor(["read:customers", "write:customers"], true)
    assert.includeMembers(tools, ["getMe", "listCustomers", "createCustomer", "deleteCustomer"])
    assert.notInclude(tools, "listInstances")
    assert.deepStrictEqual(namesFor(["write:*"], true), namesFor(everyScope, true))
    assert.notInclude(namesFor(["read:customers", "write:customers"], false), "createCustomer")
  })

  it("each input is a JSON Schema on its own, with each parameter of the path", () => {
    for (const { id, input, pathParameters } of definitions) {
      const text = JSON.stringify(input)
      assert.notInclude(text, "#/components/", id)
      for (const [, name = ""] of text.matchAll(/"#\/\$defs\/([^"]+)"/g)) {
        assert.property(input.$defs, name, `${id}: ${name}`)
      }
      assert.includeMembers(
        [...input.required],
        pathParameters.map(({ name }) => name),
        id,
      )
      assert.notProperty(input.properties, "dryRun", id)
      assert.notProperty(input.properties, "confirmation", id)
      assert.notInclude(text, CANNOT_BE_CHANGED, id)
    }
  })

  it("operations that declare a dry run are changes", () => {
    const withDryRun = definitions.filter(({ hasDryRun }) => hasDryRun)
    assert.isAbove(withDryRun.length, 15)
    for (const definition of withDryRun) assert.isFalse(isRead(definition), definition.id)
  })
})
