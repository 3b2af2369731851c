/** Who may have a release: the policy, and the dialogs that change it. */
import { useState } from "react"
import type { Release } from "../kernel/Contract.ts"
import { useCan } from "../kernel/Scopes.ts"
import { Button } from "../widgets/Button.tsx"
import { Facts } from "../widgets/Page.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { Moment, Tag } from "../widgets/Tag.tsx"
import { ChangeAccess, OfferAgain, Withdraw } from "./AccessForms.tsx"
import { t } from "./texts.en.ts"

const Required = ({ slugs }: { readonly slugs: ReadonlyArray<string> }) =>
  slugs.length === 0 ? (
    <span>{t.access.nothing}</span>
  ) : (
    <span className="tags">
      {slugs.map((slug) => (
        <RecordLink key={slug} kind="entitlement" slug={slug} />
      ))}
    </span>
  )

const dialogs = { change: ChangeAccess, withdraw: Withdraw, restore: OfferAgain }

export const AccessTab = ({ release }: { readonly release: Release }) => {
  const mayWrite = useCan("write:releases")
  const [opened, setOpened] = useState<keyof typeof dialogs>()
  const { entitlements, offered, updatedAt, updatedBy, withdrawnAt, withdrawnReason } = release.access
  const Dialog = opened === undefined ? undefined : dialogs[opened]
  return (
    <>
      {mayWrite && (
        <div className="tab-tools">
          <Button onPress={() => setOpened("change")}>{t.access.change}</Button>
          {withdrawnAt === null ? (
            <Button look="danger" onPress={() => setOpened("withdraw")}>
              {t.access.withdraw}
            </Button>
          ) : (
            <Button onPress={() => setOpened("restore")}>{t.access.restore}</Button>
          )}
        </div>
      )}
      <Facts
        items={[
          [
            t.access.customers,
            <Tag key="offered" tone={offered ? "ok" : "muted"}>
              {offered ? t.access.offered : t.access.notOffered}
            </Tag>,
          ],
          [t.access.requires, <Required key="required" slugs={entitlements} />],
          [t.access.releasedAt, <Moment key="released" at={release.releasedAt} />],
          [
            t.access.withdrawn,
            withdrawnAt === null ? null : (
              <span key="withdrawn">
                <Moment at={withdrawnAt} />
                {withdrawnReason !== null && ` ${withdrawnReason}`}
              </span>
            ),
          ],
          [
            t.access.changed,
            updatedAt === null ? null : (
              <span key="changed">
                <Moment at={updatedAt} /> {updatedBy?.name}
              </span>
            ),
          ],
        ]}
      />
      {Dialog !== undefined && <Dialog release={release} onClose={() => setOpened(undefined)} />}
    </>
  )
}
