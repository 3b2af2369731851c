/** The records that a customer or an instance has in other systems, with what failed last. */
import type { Customer } from "../../kernel/Contract.ts"
import { connectorTitle } from "../../kernel/Formats.ts"
import { t as common } from "../../kernel/texts.en.ts"
import { Facts } from "../Page.tsx"
import { Empty } from "../States.tsx"
import { Code, Moment, Tag } from "../Tag.tsx"
import { RecordLink, WebLink } from "./Links.tsx"
import { t } from "./texts.en.ts"

export const Integrations = ({ records }: { readonly records: Customer["integrations"] }) => {
  const entries = Object.entries(records)
  if (entries.length === 0) return <Empty title={t.integrations.empty}>{t.integrations.emptyDetail}</Empty>
  return (
    <div className="stack">
      {entries.map(([name, record]) => (
        <section key={name} className="stack">
          <h2>
            <RecordLink kind="connector" slug={name}>
              {connectorTitle(name)}
            </RecordLink>
          </h2>
          {record.last_error !== null && record.last_error !== "" && (
            <Tag tone="danger">
              {t.integrations.lastError}: {record.last_error}
            </Tag>
          )}
          <Facts
            items={[
              [t.integrations.externalId, <Code key="id">{record.external_id}</Code>],
              [
                t.integrations.syncedAt,
                record.synced_at === null ? common.common.never : <Moment key="at" at={record.synced_at} />,
              ],
              [t.integrations.webUrl, record.web_url === null ? null : <WebLink key="url" url={record.web_url} />],
            ]}
          />
          {Object.keys(record.metadata).length > 0 && (
            <pre tabIndex={0} role="region" aria-label={t.integrations.metadata(name)}>
              {JSON.stringify(record.metadata, null, 2)}
            </pre>
          )}
        </section>
      ))}
    </div>
  )
}
