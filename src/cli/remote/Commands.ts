/** The commands that call a running service over HTTP (docs/command-line.md). Each is loaded only if it is requested. */
import { Command } from "effect/cli"
import { EVENTS, NOUNS } from "./Catalog.ts"
import type { Entry, Noun } from "./Catalog.ts"
import { operationCommand } from "./OperationCommand.ts"
import { readOperations } from "./Operations.ts"
import type { Operation } from "./Operations.ts"

type OperationOf = (id: string) => Operation

/** Reads the operations when the first command needs one. */
const operationReader = (): OperationOf => {
  let operations: ReturnType<typeof readOperations> | undefined
  return (id) => {
    const operation = (operations ??= readOperations()).get(id)
    if (operation === undefined) throw new Error(`The API documents have no operation ${id}`)
    return operation
  }
}

const nounCommand = ({ about, commands, name }: Noun, operationOf: OperationOf) => {
  const commandOf = (verb: string, entry: Entry) => operationCommand(verb, operationOf(entry.operation), entry)
  return Command.make(name).pipe(
    Command.withDescription(about),
    Command.withSubcommands(
      Object.entries(commands).map(([verb, entry]) =>
        commandOf(verb, typeof entry === "string" ? { operation: entry } : entry),
      ),
    ),
  )
}

const eventsCommand = async (operationOf: OperationOf) => {
  const [{ tailCommand }, { bridgeCommand }] = await Promise.all([
    import("./events/TailCommand.ts"),
    import("./events/BridgeCommand.ts"),
  ])
  const operation = operationOf(EVENTS.operation)
  return Command.make("events").pipe(
    Command.withDescription("Events: what happened in the organization"),
    Command.withSubcommands([operationCommand("list", operation, EVENTS), tailCommand(operation), bridgeCommand]),
  )
}

/** Loads the commands, or only the one with this name: none if there is none. */
export const loadRemoteCommands = (name?: string) => {
  const operationOf = operationReader()
  const loaders = {
    profile: async () => (await import("./ProfileCommand.ts")).profileCommand,
    whoami: async () => (await import("./WhoAmI.ts")).whoAmICommand,
    check: async () => (await import("./Check.ts")).checkCommand,
    import: async () => (await import("./import/ImportCommand.ts")).importCommand,
    apply: async () => (await import("./apply/ApplyCommand.ts")).applyCommand,
    export: async () => (await import("./apply/ExportCommand.ts")).exportCommand,
    mcp: async () => (await import("./mcp/McpCommand.ts")).mcpCommand,
    ...Object.fromEntries(NOUNS.map((noun) => [noun.name, async () => nounCommand(noun, operationOf)])),
    events: () => eventsCommand(operationOf),
  }
  const isRequested = ([own]: readonly [string, unknown]) => name === undefined || name === own
  return Promise.all(
    Object.entries(loaders)
      .filter(isRequested)
      .map(([, load]) => load()),
  )
}
