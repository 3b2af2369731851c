/** What a screen shows while it has no data: loading, empty, failed, not allowed. */
import { useMatches } from "@tanstack/react-router"
import { CircleAlert, Lock } from "lucide-react"
import { useEffect, useState } from "react"
import type { ReactNode } from "react"
import { Problem } from "../kernel/Api.ts"
import { t } from "../kernel/texts.en.ts"
import { Button } from "./Button.tsx"
import { Copy } from "./Copy.tsx"
import { PageHead } from "./Page.tsx"

const OUTLINE_AFTER_MS = 150

/** Outlined rows, after a moment: what comes at once does not flicker. */
export const Loading = ({
  reason,
  rows = 6,
}: {
  readonly rows?: number
  readonly reason?: Error | null | undefined
}) => {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), OUTLINE_AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className="loading" role="status" aria-label={t.states.loading}>
      {reason instanceof Problem && reason.retryAfter !== undefined && <Busy seconds={reason.retryAfter} />}
      {isLate && Array.from({ length: rows }, (_, row) => <div key={row} className="outline" />)}
    </div>
  )
}

/** The service asked to wait. */
const Busy = ({ seconds }: { readonly seconds: number }) => (
  <p className="muted">{t.states.busy(useCountdown(seconds))}</p>
)

/** What the place is for, and the way to fill it. */
export const Empty = ({
  action,
  children,
  isGuided = false,
  title,
}: {
  readonly title: string
  readonly children?: ReactNode
  readonly action?: ReactNode
  /** Whether the guide of the screen says more. */
  readonly isGuided?: boolean
}) => (
  <div className="empty">
    <p className="empty-title">{title}</p>
    {children !== undefined && <p>{children}</p>}
    {action}
    {isGuided && <GuideLink />}
  </div>
)

/** A link to the guide of the screen. */
const GuideLink = () => {
  const guide = useMatches().at(-1)?.staticData.guide
  if (guide === undefined) return null
  return (
    <a href={guide} target="_blank" rel="noreferrer">
      {t.states.readGuide}
    </a>
  )
}

/** A list without rows: what it is for, or that no row matches the filter. */
export const EmptyList = ({ isFiltered, ...empty }: Parameters<typeof Empty>[0] & { readonly isFiltered: boolean }) =>
  isFiltered ? <Empty title={t.states.noMatch}>{t.states.noMatchDetail}</Empty> : <Empty isGuided {...empty} />

/** Counts the seconds down until a repetition makes sense. */
const useCountdown = (seconds: number | undefined): number => {
  const [left, setLeft] = useState(seconds ?? 0)
  useEffect(() => {
    setLeft(seconds ?? 0)
    if (seconds === undefined) return undefined
    const timer = setInterval(() => setLeft((now) => Math.max(0, now - 1)), 1000)
    return () => clearInterval(timer)
  }, [seconds])
  return left
}

/** An error with what a person needs to report it, and a way to try again. */
export const Failure = ({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) => {
  const problem =
    error instanceof Problem
      ? error
      : new Problem(0, "Console.Error", t.states.unexpected, error instanceof Error ? error.message : String(error))
  const left = useCountdown(problem.retryAfter)
  if (problem.status === 403) return <NotAllowed detail={problem.detail} />
  return (
    <div className="failure" role="alert">
      <CircleAlert aria-hidden size={16} />
      <div>
        <p className="failure-title">{problem.title}</p>
        <p>{problem.detail}</p>
        {problem.errors.length > 0 && (
          <ul>
            {problem.errors.map(({ location, message }) => (
              <li key={`${location} ${message}`}>
                <code>{location}</code> {message}
              </li>
            ))}
          </ul>
        )}
        <p className="failure-code">
          <code>{problem.code}</code>
          {problem.errorId !== undefined && (
            <>
              {" "}
              <code>{problem.errorId}</code> <Copy text={problem.errorId} label={t.states.copyErrorId} />
            </>
          )}
        </p>
        {retry !== undefined && (
          <Button onPress={retry} isDisabled={left > 0}>
            {left > 0 ? t.states.tryAgainIn(left) : t.states.tryAgain}
          </Button>
        )}
      </div>
    </div>
  )
}

/** A screen or a part of one that the caller may not read. */
export const NotAllowed = ({ detail, scope }: { readonly scope?: string; readonly detail?: string }) => (
  <div className="empty">
    <Lock aria-hidden size={20} />
    <p className="empty-title">{t.states.notAllowed}</p>
    <p>{scope === undefined ? detail : t.states.needsScope(scope)}</p>
  </div>
)

/** The line of a screen that the caller may only read. It names the scope that writes what the screen shows. */
export const ReadOnly = () => {
  const scope = useMatches().at(-1)?.staticData.scope ?? "write:*"
  return <p className="read-only">{t.states.readOnly(scope.replace(/^read:/, "write:"))}</p>
}

interface Readable<T> {
  readonly data: T | undefined
  readonly error: Error | null
  readonly failureReason?: Error | null
  readonly refetch: () => unknown
}

/** Shows an answer, or the state of its reading. Old content stays, with the error of a repetition above it. */
export const Read = <T,>({
  children,
  of,
  rows,
  title,
}: {
  readonly of: Readable<T>
  /** The heading of the screen, if the answer is the whole screen: it is shown until the answer arrives. */
  readonly title?: string
  readonly rows?: number
  readonly children: (data: T) => ReactNode
}) => (
  <>
    {title !== undefined && of.data === undefined && <PageHead title={title} />}
    {of.error !== null && <Failure error={of.error} retry={() => void of.refetch()} />}
    {of.data !== undefined
      ? children(of.data)
      : of.error === null && <Loading reason={of.failureReason} {...(rows === undefined ? {} : { rows })} />}
  </>
)
