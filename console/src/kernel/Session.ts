/**
 * Who is signed in, and with what. The credential is in memory: never in localStorage, a cookie or a URL. A pasted `ksh_` token is
 * also in sessionStorage, for a reload of the page, unless the person chooses otherwise.
 */
import { useSyncExternalStore } from "react"
import { call, Problem, setCredentials } from "./Api.ts"
import { config } from "./Config.ts"
import type { Me, PlatformMe } from "./Contract.ts"
import * as OpenId from "./OpenId.ts"
import type { Tokens } from "./OpenId.ts"

type Method = "token" | "oidc" | "platform"

/** Why no one is signed in. */
export type Ended = "never" | "signed-out" | "locked" | "other-tab"

export type Session =
  | { readonly kind: "signed-out"; readonly ended: Ended }
  | {
      readonly kind: "signed-in"
      readonly me: Me | PlatformMe
      readonly method: Method
      /** The credential was refused. What is on the screen stays until the person signs in again. */
      readonly expired: boolean
    }

const KEPT = "keyshelf.token"
const ACTIVE = "keyshelf.active"
const OIDC = "keyshelf.oidc"

const PLATFORM_IDLE_MS = 15 * 60_000
const TOKEN_IDLE_MS = 60 * 60_000

const listeners = new Set<() => void>()
const onSignOut = new Set<() => void>()
let session: Session = { kind: "signed-out", ended: "never" }
let token: string | undefined
let tokens: Tokens | undefined
let renewal: Promise<string | undefined> | undefined
const channel = new BroadcastChannel("keyshelf")

const set = (next: Session): void => {
  session = next
  for (const listener of listeners) listener()
}

/** Runs when a session ends: drops what was read with it. */
export const whenSignedOut = (listener: () => void): void => {
  onSignOut.add(listener)
}

const drop = (ended: Ended): void => {
  token = undefined
  tokens = undefined
  for (const name of [KEPT, ACTIVE, OIDC]) sessionStorage.removeItem(name)
  for (const listener of onSignOut) listener()
  set({ kind: "signed-out", ended })
}

const expire = (): void => {
  if (session.kind === "signed-in" && !session.expired) set({ ...session, expired: true })
}

const RENEW_BEFORE_MS = 60_000

/** The access token, renewed a minute before it ends. Concurrent requests share one renewal, as refresh tokens rotate. */
const accessToken = async (): Promise<string | undefined> => {
  const held = tokens
  const { oidc } = config()
  if (held === undefined || oidc === null) return undefined
  if (held.expiresAt - Date.now() > RENEW_BEFORE_MS || held.refreshToken === undefined) return held.accessToken
  const refreshToken = held.refreshToken
  renewal ??= OpenId.refresh(oidc, refreshToken)
    .then((next) => {
      // The person may have signed out meanwhile.
      if (tokens === held)
        tokens = { ...next, refreshToken: next.refreshToken ?? refreshToken, idToken: next.idToken ?? held.idToken }
      return tokens?.accessToken
    })
    .catch(() => held.accessToken)
    .finally(() => {
      renewal = undefined
    })
  return renewal
}

setCredentials({
  token: async () => token ?? (await accessToken()),
  refused: (refused) => {
    if (refused !== undefined && (refused === token || refused === tokens?.accessToken)) expire()
  },
})

channel.addEventListener("message", ({ data }) => {
  if (data === "signed-out" && session.kind === "signed-in") drop("other-tab")
})

const readMe = (method: Method): Promise<Me | PlatformMe> =>
  method === "platform" ? call("GET /api/platform/me", {}) : call("GET /api/me", {})

const enter = async (method: Method): Promise<void> => {
  const before = session
  const me = await readMe(method)
  // Another person must not see what the one before read.
  if (before.kind === "signed-in" && before.me.identity.id !== me.identity.id)
    for (const listener of onSignOut) listener()
  set({ kind: "signed-in", me, method, expired: false })
}

/** Signs in with a pasted token. `keep` stores it until the tab is closed. */
export const signInWithToken = async (pasted: string, keep: boolean): Promise<void> => {
  const text = pasted.trim()
  const method: Method = config().surface === "platform" ? "platform" : "token"
  const [prefix, other] = method === "platform" ? ["ksm_", "ksh_"] : ["ksh_", "ksm_"]
  // A credential of the other surface is not sent: it would be in the wrong place for nothing.
  if (text.startsWith(other)) throw new Problem(0, `Console.${method}`, "", "wrong-kind")
  if (!text.startsWith(prefix)) throw new Problem(0, `Console.${method}`, "", "not-a-token")
  const before = token
  token = text
  try {
    await enter(method)
  } catch (error) {
    token = before
    throw error
  }
  if (keep && method === "token") {
    sessionStorage.setItem(KEPT, text)
    noteActivity(Date.now())
  } else sessionStorage.removeItem(KEPT)
}

/** Notes when the person was last active, so that a page which is loaded again later than the lock allows stays locked. */
export const noteActivity = (at: number): void => {
  if (sessionStorage.getItem(KEPT) !== null) sessionStorage.setItem(ACTIVE, String(at))
}

/** Whether the token that is kept would have been locked while the page was away. */
const wasIdle = (): boolean => Date.now() - Number(sessionStorage.getItem(ACTIVE) ?? Date.now()) >= TOKEN_IDLE_MS

/** Continues after the redirect of the OpenID provider. `show` gets the page that was asked for, also if the sign-in fails. */
export const finishSignIn = async (url: URL, show: (path: string) => void): Promise<void> => {
  const { oidc } = config()
  if (oidc === null) throw new Error("This service has no OpenID provider")
  const pending = OpenId.takePending()
  show(pending.returnTo)
  tokens = await OpenId.finish(oidc, url, pending)
  await enter("oidc")
  sessionStorage.setItem(OIDC, "true")
}

/** Restores what a reload may restore: a token that is kept, or another redirect to the provider. */
export const restore = async (path: string): Promise<void> => {
  const kept = sessionStorage.getItem(KEPT)
  if (kept !== null && config().surface === "core") {
    if (wasIdle()) return drop("locked")
    token = kept
    await enter("token").catch((error) => {
      token = undefined
      if (error instanceof Problem && error.status === 401) sessionStorage.removeItem(KEPT)
    })
    return
  }
  const { oidc } = config()
  if (sessionStorage.getItem(OIDC) !== null && oidc !== null) {
    // One attempt: if the provider fails, the next load shows the page for sign-in.
    sessionStorage.removeItem(OIDC)
    await OpenId.begin(oidc, path)
    await new Promise(() => undefined)
  }
}

/** Signs out here and in the other tabs, and at the provider. */
export const signOut = async (): Promise<void> => {
  const idToken = tokens?.idToken
  const endpoint = session.kind === "signed-in" && session.method === "oidc" ? config().oidc?.endSessionEndpoint : null
  drop("signed-out")
  // A channel has no target: only pages of this origin receive it.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  channel.postMessage("signed-out")
  if (endpoint !== null && endpoint !== undefined) OpenId.endSession(endpoint, config().oidc?.clientId ?? "", idToken)
}

/** Drops the credential of a person who left. */
export const lock = (): void => drop("locked")

/** How long a person may be idle; `undefined` for sessions that end by themselves. */
export const idleLimit = (method: Method): number | undefined =>
  method === "platform" ? PLATFORM_IDLE_MS : method === "token" ? TOKEN_IDLE_MS : undefined

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
  }
}

/** The session as it is now. */
const currentSession = (): Session => session

/** The session, also while no one is signed in. */
export const useSessionState = (): Session => useSyncExternalStore(subscribe, currentSession)

const NO_SCOPES: ReadonlyArray<string> = []

/** The scopes and the identity of the signed-in caller. */
export const useSession = (): { readonly scopes: ReadonlyArray<string>; readonly me: Me | PlatformMe | undefined } => {
  const state = useSessionState()
  return state.kind === "signed-in" ? { scopes: state.me.scopes, me: state.me } : { scopes: NO_SCOPES, me: undefined }
}
