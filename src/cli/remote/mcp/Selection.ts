/** Which operations are tools, and for which tokens. */
import { missingScopes } from "../../../kernel/contract/Scope.ts"
import type { Definition } from "./Definitions.ts"

const SECRET = "Its response contains a secret, which would be part of a conversation"
const ENDLESS = "A stream that does not end; an assistant reads when it needs an answer"
const PROVIDER = "For programs that connect other systems, which send it themselves"

/** The operations that are not tools, and why. */
export const WITHOUT_TOOL: Readonly<Record<string, string>> = {
  issueServiceAccountToken: SECRET,
  rotateServiceAccountToken: SECRET,
  createLicenseKey: SECRET,
  rotateLicenseKey: SECRET,
  putConnectorSettings: "Its settings contain secrets of other systems, which would be part of a conversation",
  importRecords: "`keyshelf import` sends files of records, and shows a dry run of its own",
  reportUsageEvents: "For pipelines that send CloudEvents; reportUsage is the tool",
  uploadOfflineUsage: "A ledger is a file; `keyshelf offline upload` sends it",
  followChanges: ENDLESS,
  followFlags: ENDLESS,
  getCustomerByExternalId: PROVIDER,
  upsertCustomer: PROVIDER,
  getInstanceByExternalId: PROVIDER,
  upsertInstance: PROVIDER,
}

/** Operations that change nothing although their scope allows changes. */
const CHANGES_NOTHING: ReadonlyArray<string> = ["dryRunMetadataField"]

/** Body properties that would turn a read into a change. */
const REMOVED: Readonly<Record<string, ReadonlyArray<string>>> = { checkInstance: ["consume"] }

/** Properties that an operation's body cannot have in a tool. */
export const removedFrom = ({ id }: Definition): ReadonlyArray<string> => REMOVED[id] ?? []

/** Whether an operation changes nothing. A POST that needs no scope to write is a question, such as a check. */
export const isRead = ({ id, method, scopes }: Definition): boolean =>
  method === "GET" ||
  CHANGES_NOTHING.includes(id) ||
  (method === "POST" && scopes.length > 0 && scopes.every((scope) => scope.startsWith("read:")))

/** The operations that a token may use as tools. */
export const toolsFor = (
  definitions: ReadonlyArray<Definition>,
  { scopes, write }: { readonly scopes: ReadonlyArray<string>; readonly write: boolean },
): ReadonlyArray<Definition> =>
  definitions.filter(
    (definition) =>
      WITHOUT_TOOL[definition.id] === undefined &&
      (write || isRead(definition)) &&
      (definition.scopes.length === 0 ||
        definition.scopes.some((scope) => missingScopes(scopes, [scope]).length === 0)),
  )
