import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import type { Command } from "effect/cli"
import { EVENTS, NOUNS } from "../../../src/cli/remote/Catalog.ts"
import type { Entry } from "../../../src/cli/remote/Catalog.ts"
import { loadRemoteCommands } from "../../../src/cli/remote/Commands.ts"
import { flagName } from "../../../src/cli/remote/Flags.ts"
import { readOperations } from "../../../src/cli/remote/Operations.ts"
import { documents, operationsOf } from "../../openapi/documents.ts"
import type { Schema } from "../../support/schemas.ts"

const CONNECTORS = "Connectors are set up once, with settings that contain secrets"
const ADAPTERS = "Adapters of other systems write these records"
const LOCAL = "`keyshelf platform-credential` manages them on the machine of the service"

/** The operations that no command of the catalog stands for, and why. */
const WITHOUT_COMMAND: Readonly<Record<string, string>> = {
  getMe: "`keyshelf whoami` asks for it",
  getPlatformMe: "`keyshelf whoami` asks for it",
  checkInstance: "`keyshelf check` asks for it",
  importRecords: "`keyshelf import` sends a file through it",
  reportUsageEvents: "For gateways and pipelines that send CloudEvents; `usage report` is for people",
  getFeatureFlagManifest: "For the OpenFeature command line",
  evaluateFlag: "For OpenFeature providers",
  evaluateFlags: "For OpenFeature providers",
  followFlags: "For OpenFeature providers",
  followChanges: "For products; `keyshelf events` follows what people want to see",
  listPlatformCredentials: LOCAL,
  createPlatformCredential: LOCAL,
  revokePlatformCredential: LOCAL,
  listConnectors: CONNECTORS,
  getConnectorState: CONNECTORS,
  activateConnector: CONNECTORS,
  deactivateConnector: CONNECTORS,
  getConnectorSettingsSchema: CONNECTORS,
  getConnectorSettings: CONNECTORS,
  putConnectorSettings: CONNECTORS,
  deleteConnectorSettings: CONNECTORS,
  testConnector: CONNECTORS,
  listRegisteredConnectors: CONNECTORS,
  registerConnector: CONNECTORS,
  deleteRegisteredConnector: CONNECTORS,
  getConnectorInclusion: CONNECTORS,
  putConnectorInclusion: CONNECTORS,
  listCustomerIntegrations: ADAPTERS,
  getCustomerIntegration: ADAPTERS,
  createCustomerIntegration: ADAPTERS,
  putCustomerIntegration: ADAPTERS,
  deleteCustomerIntegration: ADAPTERS,
  listInstanceIntegrations: ADAPTERS,
  getInstanceIntegration: ADAPTERS,
  createInstanceIntegration: ADAPTERS,
  putInstanceIntegration: ADAPTERS,
  deleteInstanceIntegration: ADAPTERS,
  getCustomerByExternalId: ADAPTERS,
  upsertCustomer: ADAPTERS,
  getInstanceByExternalId: ADAPTERS,
  upsertInstance: ADAPTERS,
}

const entries: ReadonlyArray<Entry> = [
  ...NOUNS.flatMap(({ commands }) =>
    Object.values(commands).map((entry) => (typeof entry === "string" ? { operation: entry } : entry)),
  ),
  EVENTS,
]

/** The properties of the items of a list, by its operation. */
const itemsOf = (operationId: string): ReadonlyArray<string> =>
  documents.flatMap((document) => {
    const resolve = (schema: Schema): Schema =>
      schema?.$ref === undefined ? (schema ?? {}) : resolve(document.components.schemas[schema.$ref.split("/").at(-1)])
    return operationsOf(document)
      .filter(([, operation]) => operation.operationId === operationId)
      .flatMap(([, { responses }]) => {
        const page = resolve(responses["200"]?.content["application/json"].schema)
        return Object.keys(resolve(resolve(page.properties.items).items).properties)
      })
  })

describe("the commands that ask a service", () => {
  const operations = readOperations()

  it("cover every operation of the API, or a reason says why not", () => {
    assert.sameMembers(
      [...entries.map(({ operation }) => operation), ...Object.keys(WITHOUT_COMMAND)],
      Array.from(operations.keys()),
    )
  })

  it("show columns that the items of their lists have", () => {
    for (const { columns, operation } of entries) {
      const isList = operations.get(operation)?.queryInputs.some(({ name }) => name === "cursor") === true
      assert.strictEqual(columns !== undefined, isList, operation)
      if (columns !== undefined) assert.includeMembers([...itemsOf(operation)], [...columns], operation)
    }
  })

  it("give each value of a request a flag of its own", () => {
    // Of the flags for all commands, only those of the command itself would be replaced.
    const taken = ["json", "profile", "all", "count", "body", "idempotency-key", "help", "log-level", "completions"]
    for (const { bodyInputs, id, queryInputs } of operations.values()) {
      const names = [...queryInputs, ...bodyInputs].map(({ name }) => flagName(name))
      assert.strictEqual(new Set(names).size, names.length, id)
      for (const name of names) assert.notInclude(taken, name, id)
    }
  })

  it("all have a description", async () => {
    const walk = (commands: ReadonlyArray<Command.Command.Any>, path: string): number =>
      commands.reduce((count, command) => {
        assert.isNotEmpty(command.description ?? "", `${path} ${command.name}`)
        return (
          count +
          1 +
          walk(
            command.subcommands.flatMap((group) => group.commands),
            `${path} ${command.name}`,
          )
        )
      }, 0)
    assert.isAbove(walk(await loadRemoteCommands(), "keyshelf"), 100)
  })

  it("leave out what an update cannot change", () => {
    const update = Option.fromNullishOr(operations.get("updateCustomer"))
    const names = Option.match(update, {
      onNone: () => [],
      onSome: ({ bodyInputs }) => bodyInputs.map(({ name }) => name),
    })
    assert.deepStrictEqual(names, ["name", "domain", "externalCustomerId"])
  })
})
