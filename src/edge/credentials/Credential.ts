/**
 * A credential of the file of tokens. The edge finds out whom it belongs to, and remembers if the origin denies it: until the origin
 * accepts it again, no caller is served with it, also after a restart.
 */
import { Redacted } from "effect"
import { join } from "node:path"
import { spread } from "../../local/Backoff.ts"
import { allows } from "../../kernel/contract/Scope.ts"
import type { Clock, Failure } from "../../local/index.ts"
import { makeCalls } from "../origin/Calls.ts"
import type { Calls, Connection } from "../origin/Calls.ts"
import { ChangeFeed } from "../origin/ChangeFeed.ts"
import { hashOf } from "../instances/Folder.ts"
import type { EdgeFolder } from "../instances/Folder.ts"
import { identityIn, stateIn, textOfState } from "./Identity.ts"
import type { CredentialState } from "./Identity.ts"

/** How often the edge asks whether a denied credential works again. */
const DENIED_INTERVAL_MS = 60_000
/** How often it asks for an identity that it could not read. */
const RETRY_INTERVAL_MS = 5_000

export interface Credential {
  readonly id: string
  readonly calls: Calls
  readonly feed: ChangeFeed
  readonly state: Readonly<CredentialState>
  /** Whether the origin has said that its callers may consume. */
  readonly mayConsume: () => boolean
  readonly close: () => void
}

export interface CredentialOptions {
  readonly folder: Pick<EdgeFolder, "read" | "write">
  readonly clock: Clock
  readonly connection: Connection
  /** The stream of changes has opened or ended. */
  readonly onFeed: (credential: Credential, isOpen: boolean) => void
  /** The origin has denied or accepted the credential. */
  readonly onDenied: (credential: Credential) => void
  /** It is known whom the credential belongs to. */
  readonly onIdentity: (credential: Credential) => void
  /** A state could not be stored. */
  readonly onError: (error: unknown) => void
}

/** The id of a credential: it shows nothing of it, and can be stored. */
export const idOf = (token: string): string => hashOf(token)

const isDenial = ({ code, type }: Failure): boolean => type === "problem" && code === "Auth.InvalidCredential"

/** Notes what each response says about the credential itself. */
const observed = (calls: Calls, note: (result: { readonly type: string }) => void): Calls => {
  const noted = async <A extends { readonly type: string }>(reply: Promise<A>): Promise<A> => {
    const result = await reply
    note(result)
    return result
  }
  return {
    snapshot: (instance, etag, isUrgent) => noted(calls.snapshot(instance, etag, isUrgent)),
    // Public: it says nothing about the credential.
    keys: calls.keys,
    refill: (instance, body) => noted(calls.refill(instance, body)),
    identity: () => noted(calls.identity()),
  }
}

/** Opens a credential: reads what is stored of it, and begins to ask whom it belongs to. */
export const openCredential = async (token: Redacted.Redacted, options: CredentialOptions): Promise<Credential> => {
  const { clock, connection, folder, onDenied, onError, onFeed, onIdentity } = options
  const id = idOf(Redacted.value(token))
  const path = join(id, "credential.json")
  const state = stateIn(await folder.read(path))
  let isClosed = false
  let cancel: (() => void) | undefined
  let writing = Promise.resolve()

  const store = (): void => {
    const text = textOfState(state)
    writing = writing.then(() => folder.write(path, text)).catch(onError)
  }
  const setDenied = (isDenied: boolean): void => {
    if (state.isDenied === isDenied || isClosed) return
    state.isDenied = isDenied
    store()
    onDenied(credential)
  }
  const note = (result: { readonly type: string }): void => {
    if (result.type !== "away") setDenied(isDenial(result as Failure))
  }
  const calls = observed(makeCalls(connection, token), note)
  const askAgain = (millis: number) => (cancel = clock.after(spread(millis, clock.random()), () => void identify()))
  const identify = async (): Promise<void> => {
    const reply = await calls.identity()
    if (isClosed) return
    const identity = reply.type === "identity" ? identityIn(reply.text) : undefined
    if (identity === undefined) return void askAgain(state.isDenied ? DENIED_INTERVAL_MS : RETRY_INTERVAL_MS)
    const isNew = JSON.stringify(identity) !== JSON.stringify(state.identity)
    state.identity = identity
    if (isNew) store()
    onIdentity(credential)
  }
  const feed = new ChangeFeed({
    origin: connection.origin,
    clock,
    authorization: `Bearer ${Redacted.value(token)}`,
    onChange: (isOpen) => onFeed(credential, isOpen),
    onFailure: (failure) => {
      note(failure)
      if (state.isDenied) askAgain(DENIED_INTERVAL_MS)
    },
  })
  const credential: Credential = {
    id,
    calls,
    feed,
    state,
    mayConsume: () => !state.isDenied && allows(state.identity?.scopes ?? [], "write:instances"),
    close: () => {
      isClosed = true
      cancel?.()
      feed.close()
    },
  }
  if (state.identity !== null) onIdentity(credential)
  void identify()
  return credential
}
