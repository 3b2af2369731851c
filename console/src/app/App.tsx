/** The page, or the sign-in in its place. If a credential expires, the sign-in covers the page: typed text is kept. */
import { useQueryClient } from "@tanstack/react-query"
import { lazy, Suspense, useEffect } from "react"
import type { ReactNode } from "react"
import { config } from "../kernel/Config.ts"
import { start } from "../kernel/refresh/Live.ts"
import { allows } from "../kernel/Scopes.ts"
import { idleLimit, lock, noteActivity, useSessionState } from "../kernel/Session.ts"
import type { Session } from "../kernel/Session.ts"

const load = () => import("../signIn/SignIn.tsx")
const SignInPage = lazy(async () => ({ default: (await load()).SignInPage }))
const SignInDialog = lazy(async () => ({ default: (await load()).SignInDialog }))

const CHECK_EVERY_MS = 5_000
const ACTIVITY = ["pointerdown", "keydown", "wheel", "touchstart"] as const

/** Locks after the longest idle time. The clock is compared, as timers stand still while a computer sleeps. */
const useIdleLock = (session: Session) => {
  const limit = session.kind === "signed-in" ? idleLimit(session.method) : undefined
  useEffect(() => {
    if (limit === undefined) return undefined
    let active = Date.now()
    const touched = () => {
      active = Date.now()
    }
    const check = () => {
      if (Date.now() - active >= limit) lock()
      else noteActivity(active)
    }
    const timer = setInterval(check, CHECK_EVERY_MS)
    for (const name of ACTIVITY) addEventListener(name, touched, { passive: true, capture: true })
    document.addEventListener("visibilitychange", check)
    return () => {
      clearInterval(timer)
      for (const name of ACTIVITY) removeEventListener(name, touched, { capture: true })
      document.removeEventListener("visibilitychange", check)
    }
  }, [limit])
}

const useLive = (session: Session) => {
  const queries = useQueryClient()
  const isLive =
    session.kind === "signed-in" &&
    !session.expired &&
    config().surface === "core" &&
    allows(session.me.scopes, "read:organizations")
  useEffect(() => (isLive ? start(queries) : undefined), [isLive, queries])
}

export const App = ({ children, failure }: { readonly children: ReactNode; readonly failure: unknown }) => {
  const session = useSessionState()
  const queries = useQueryClient()
  useIdleLock(session)
  useLive(session)
  if (session.kind === "signed-out") {
    return (
      <Suspense fallback={null}>
        <SignInPage ended={session.ended} failure={failure} />
      </Suspense>
    )
  }
  return (
    <>
      {children}
      <Suspense fallback={null}>
        {session.expired && <SignInDialog onSignedIn={() => void queries.invalidateQueries()} />}
      </Suspense>
    </>
  )
}
