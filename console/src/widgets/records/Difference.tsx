/** What an event changed: only the properties that differ, before and after. */
import type { EventRecord } from "../../kernel/Contract.ts"
import { t } from "./texts.en.ts"

const textOf = (value: unknown): string => {
  if (value === undefined || value === null) return t.nothing
  return typeof value === "string" ? value : JSON.stringify(value, null, 2)
}

const HIDDEN = new Set(["updatedAt", "updatedBy"])

export const Difference = ({ event }: { readonly event: EventRecord }) => {
  const { data, previous } = event
  if (previous === undefined)
    return (
      <pre tabIndex={0} role="region" aria-label={t.data}>
        {JSON.stringify(data, null, 2)}
      </pre>
    )
  const names = Object.keys(data).filter(
    (name) => !HIDDEN.has(name) && name in previous && JSON.stringify(previous[name]) !== JSON.stringify(data[name]),
  )
  if (names.length === 0) return <p>{t.noDifference}</p>
  return (
    <table className="plain">
      <thead>
        <tr>
          <th scope="col">{t.property}</th>
          <th scope="col">{t.before}</th>
          <th scope="col">{t.after}</th>
        </tr>
      </thead>
      <tbody>
        {names.map((name) => (
          <tr key={name}>
            <th scope="row">
              <code>{name}</code>
            </th>
            <td className="diff-before">
              <del>{textOf(previous[name])}</del>
            </td>
            <td className="diff-after">
              <ins>{textOf(data[name])}</ins>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
