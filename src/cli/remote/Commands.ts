/** The commands that call a running service over HTTP (docs/command-line.md). */
import { Command } from "effect/cli"
import { applyCommand } from "./apply/ApplyCommand.ts"
import { exportCommand } from "./apply/ExportCommand.ts"
import { EVENTS, NOUNS } from "./Catalog.ts"
import type { Entry } from "./Catalog.ts"
import { checkCommand } from "./Check.ts"
import { bridgeCommand } from "./events/BridgeCommand.ts"
import { tailCommand } from "./events/TailCommand.ts"
import { importCommand } from "./import/ImportCommand.ts"
import { mcpCommand } from "./mcp/McpCommand.ts"
import { operationCommand } from "./OperationCommand.ts"
import { readOperations } from "./Operations.ts"
import { profileCommand } from "./ProfileCommand.ts"
import { whoAmICommand } from "./WhoAmI.ts"

/** Makes the commands from the operations of the API documents. */
export const makeRemoteCommands = () => {
  const operations = readOperations()
  const operationOf = (id: string) => {
    const operation = operations.get(id)
    if (operation === undefined) throw new Error(`The API documents have no operation ${id}`)
    return operation
  }
  const commandOf = (name: string, entry: Entry) => operationCommand(name, operationOf(entry.operation), entry)

  const nouns = NOUNS.map(({ about, commands, name }) =>
    Command.make(name).pipe(
      Command.withDescription(about),
      Command.withSubcommands(
        Object.entries(commands).map(([verb, entry]) =>
          commandOf(verb, typeof entry === "string" ? { operation: entry } : entry),
        ),
      ),
    ),
  )
  const events = Command.make("events").pipe(
    Command.withDescription("Events: what happened in the organization"),
    Command.withSubcommands([commandOf("list", EVENTS), tailCommand(operationOf(EVENTS.operation)), bridgeCommand]),
  )
  return [
    profileCommand,
    whoAmICommand,
    checkCommand,
    importCommand,
    applyCommand,
    exportCommand,
    mcpCommand,
    ...nouns,
    events,
  ]
}
