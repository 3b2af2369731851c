/** The key sets of organizations. Instances share them, and products behind the edge need them while the origin is away. */
import { own } from "../../offline/values/Unknown.ts"
import type { Failure, KeysReply } from "../../local/index.ts"
import type { PinnedKeys } from "../../offline/Model.ts"
import type { EdgeFolder } from "../instances/Folder.ts"

/** Instances that fetch at the same time share one request. */
const SHARED_MS = 1_000

/** The text of a key set, or why there is none. */
type KeysText = Failure | { readonly type: "keys"; readonly text: string }

export interface KeySets {
  /** The key set of an organization, by a request of `fetch` unless there was one just now. */
  readonly read: (organization: string, fetch: () => Promise<KeysText>) => Promise<KeysReply>
  /** The text that was stored last. */
  readonly stored: (organization: string) => Promise<string | undefined>
}

/** The key set in a text; `undefined` if it is none. */
const keysIn = (text: string): PinnedKeys | undefined => {
  try {
    const keys: unknown = JSON.parse(text)
    return Array.isArray(own(keys, "keys")) ? (keys as PinnedKeys) : undefined
  } catch {
    return undefined
  }
}

interface Shared {
  readonly until: number
  readonly reply: Promise<KeysReply>
}

/** Makes the key sets of a directory. */
export const makeKeySets = (folder: Pick<EdgeFolder, "read" | "write">, monotonic: () => number): KeySets => {
  const shared = new Map<string, Shared>()
  const pathOf = (organization: string) => `keys-${encodeURIComponent(organization)}.json`
  const latest = new Map<string, { readonly text: string; readonly keys: PinnedKeys }>()

  const fetchKeys = async (organization: string, fetch: () => Promise<KeysText>): Promise<KeysReply> => {
    const reply = await fetch()
    if (reply.type !== "keys") return reply
    const known = latest.get(organization)
    if (known?.text === reply.text) return { type: "keys", keys: known.keys }
    const keys = keysIn(reply.text)
    if (keys === undefined) return { type: "away", code: "", error: new Error("The response is not a key set") }
    latest.set(organization, { text: reply.text, keys })
    await folder.write(pathOf(organization), reply.text)
    return { type: "keys", keys }
  }

  return {
    read: (organization, fetch) => {
      const known = shared.get(organization)
      if (known !== undefined && monotonic() < known.until) return known.reply
      const reply = fetchKeys(organization, fetch)
      shared.set(organization, { until: monotonic() + SHARED_MS, reply })
      return reply
    },
    stored: async (organization) => latest.get(organization)?.text ?? folder.read(pathOf(organization)),
  }
}
