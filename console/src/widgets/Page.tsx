/** The frame of a screen: heading, actions, sections and facts. */
import { useEffect, useRef } from "react"
import type { ReactNode } from "react"

/** The heading of a screen. It gets the focus when the screen opens, so that a screen reader says where the person is. */
export const PageHead = ({
  actions,
  children,
  crumbs,
  title,
}: {
  readonly title: string
  readonly crumbs?: ReactNode
  readonly actions?: ReactNode
  readonly children?: ReactNode
}) => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} - Keyshelf`
  }, [title])
  useEffect(() => {
    // A field or a dialog that already has the focus keeps it. The search gives it back to the button that opened it.
    if (document.activeElement === document.body || document.activeElement?.closest(".side, .top-bar") !== null) {
      heading.current?.focus({ preventScroll: true })
    }
  }, [])
  return (
    <header className="page-head">
      {crumbs !== undefined && <div className="crumbs">{crumbs}</div>}
      <div className="page-title">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions !== undefined && <div className="actions">{actions}</div>}
      </div>
      {children !== undefined && <div className="page-facts">{children}</div>}
    </header>
  )
}

export const Section = ({
  actions,
  children,
  title,
}: {
  readonly title: string
  readonly actions?: ReactNode
  readonly children: ReactNode
}) => (
  <section className="section">
    <div className="section-head">
      <h2>{title}</h2>
      {actions !== undefined && <div className="actions">{actions}</div>}
    </div>
    {children}
  </section>
)

/** Names and values. Values that are missing are left out. */
export const Facts = ({ items }: { readonly items: ReadonlyArray<readonly [name: string, value: ReactNode]> }) => (
  <dl className="facts">
    {items
      .filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
)

/** What happened just before, above the content of a screen. */
export const Notice = ({ children, title }: { readonly title: string; readonly children: ReactNode }) => (
  <div className="notice" role="status">
    <p className="empty-title">{title}</p>
    <p>{children}</p>
  </div>
)
