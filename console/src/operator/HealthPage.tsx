/** Whether the parts of the installation work, as the health endpoint sees them. */
import { formatDuration, formatMoment, words } from "../kernel/Formats.ts"
import { isMoment } from "../kernel/forms/Moments.ts"
import { useRead } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { PageHead } from "../widgets/Page.tsx"
import { Read } from "../widgets/States.tsx"
import { Tag } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

const REFRESH_MS = 15_000

/** A property's name in words: `termNotices` is "Term notices". */
const nameOf = (property: string): string => words(property.replaceAll(/([a-z])([A-Z])/g, "$1_$2"))

const valueText = (value: unknown): string => {
  if (typeof value !== "string") return JSON.stringify(value)
  return isMoment(value) ? formatMoment(value) : value
}

/** A fact in words. The unit of a duration is part of its name. */
const factText = ([name, value]: readonly [string, unknown]): string =>
  typeof value === "number" && name.endsWith("Ms")
    ? `${nameOf(name.slice(0, -2))}: ${formatDuration(value)}`
    : `${nameOf(name)}: ${valueText(value)}`

/** What a part says beside its status. */
const detailOf = (part: object): string =>
  Object.entries(part)
    .filter(([name]) => name !== "status")
    .map(factText)
    .join(", ")

export const Page = () => {
  const health = useRead("GET /api/platform/health", {}, { refetchInterval: REFRESH_MS })
  return (
    <>
      <PageHead title={t.health}>
        {health.data !== undefined && (
          <>
            <Tag tone={health.data.status === "ready" ? "ok" : "danger"}>
              {health.data.status === "ready" ? t.up : t.down}
            </Tag>
            <span>
              {t.version} {health.data.version}
            </span>
          </>
        )}
      </PageHead>
      <Read of={health}>
        {({ parts }) => (
          <table className="plain">
            <thead>
              <tr>
                <th scope="col">{t.part}</th>
                <th scope="col">{common.common.state}</th>
                <th scope="col">{t.detail}</th>
              </tr>
            </thead>
            <tbody>
              {Object.entries(parts).map(([name, part]) => (
                <tr key={name}>
                  <th scope="row">{nameOf(name)}</th>
                  <td>
                    <Tag tone={part.status === "up" ? "ok" : "danger"}>{part.status === "up" ? t.up : t.down}</Tag>
                  </td>
                  <td>{detailOf(part)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Read>
    </>
  )
}
