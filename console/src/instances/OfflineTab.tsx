/** Offline bundles of the instance. */
import { useState } from "react"
import type { OfflineBundle } from "../kernel/Contract.ts"
import { downloadText } from "./Download.ts"
import { formatMoment } from "../kernel/Formats.ts"
import { orUndefinedNumber } from "../kernel/Inputs.ts"
import { defined, useRead, useRows, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button } from "../widgets/Button.tsx"
import { CopyButton } from "../widgets/Copy.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { Dialog, DialogActions } from "../widgets/Dialog.tsx"
import { TextField } from "../widgets/forms/Fields.tsx"
import { errorAt, FormDialog } from "../widgets/forms/Form.tsx"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { ValidityTag, validityOf } from "../widgets/tokens/Validity.tsx"
import { Empty, NotAllowed, Read } from "../widgets/States.tsx"
import { Code, Moment } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

const DAY_SECONDS = 86_400

/** The seconds of the days that were typed. Text that is no number is sent as it is, for the service to refuse at its field. */
const secondsOf = (days: string): number | undefined => {
  const typed: unknown = orUndefinedNumber(days)
  return typeof typed === "number" ? Math.round(typed * DAY_SECONDS) : (typed as undefined)
}

export const IssueBundle = ({
  instanceSlug,
  onClose,
}: {
  readonly instanceSlug: string
  readonly onClose: () => void
}) => {
  const [days, setDays] = useState("30")
  const [grace, setGrace] = useState("")
  const [issued, setIssued] = useState<string>()
  const write = useWrite("POST /api/instances/:instanceSlug/offline-bundles", {
    stale: ["/api/instances"],
    done: ({ bundle }) => setIssued(bundle),
  })
  if (issued !== undefined) return <BundleText instanceSlug={instanceSlug} text={issued} onClose={onClose} />
  return (
    <FormDialog
      title={t.issueBundle}
      submit={t.issueBundle}
      fields={["ttlSeconds", "graceSeconds"]}
      onClose={onClose}
      write={write}
      onSubmit={() =>
        write.mutate({
          params: { instanceSlug },
          body: defined({ ttlSeconds: secondsOf(days), graceSeconds: secondsOf(grace) }),
        })
      }
    >
      <div className="form-row">
        <TextField
          kind="decimal"
          label={t.offline.days}
          value={days}
          onChange={setDays}
          error={errorAt(write.error, "ttlSeconds")}
          autoFocus
        />
        <TextField
          kind="decimal"
          label={t.offline.graceDays}
          value={grace}
          onChange={setGrace}
          error={errorAt(write.error, "graceSeconds")}
        />
      </div>
    </FormDialog>
  )
}

const BundleText = ({
  instanceSlug,
  onClose,
  text,
}: {
  readonly instanceSlug: string
  readonly text: string
  readonly onClose: () => void
}) => (
  <Dialog title={t.offline.bundle} isOpen onClose={onClose}>
    <p>{t.offline.bundleHint}</p>
    <pre tabIndex={0} role="region" aria-label={t.offline.bundle}>
      {text}
    </pre>
    <DialogActions>
      <CopyButton text={text} />
      <Button onPress={() => downloadText(`${instanceSlug}.bundle`, text)}>{t.offline.download}</Button>
      <Button look="primary" onPress={onClose}>
        {common.common.done}
      </Button>
    </DialogActions>
  </Dialog>
)

const ShowBundle = ({ bundle, onClose }: { readonly bundle: OfflineBundle; readonly onClose: () => void }) => {
  const found = useRead("GET /api/instances/:instanceSlug/offline-bundles/:bundleId", {
    params: { instanceSlug: bundle.instance, bundleId: bundle.id },
  })
  return found.data === undefined ? (
    <Dialog title={t.offline.bundle} isOpen onClose={onClose}>
      <Read of={found}>{() => null}</Read>
    </Dialog>
  ) : (
    <BundleText instanceSlug={bundle.instance} text={found.data.bundle} onClose={onClose} />
  )
}

const RevokeBundle = ({ bundle, onClose }: { readonly bundle: OfflineBundle; readonly onClose: () => void }) => (
  <ImpactDialog
    title={t.offline.revokeTitle(bundle.sequence)}
    submit={common.common.revoke}
    operation="DELETE /api/instances/:instanceSlug/offline-bundles/:bundleId"
    request={{ params: { instanceSlug: bundle.instance, bundleId: bundle.id } }}
    stale={["/api/instances"]}
    onClose={onClose}
  />
)

export const OfflineTab = ({ instanceSlug }: { readonly instanceSlug: string }) => {
  const mayRead = useCan("read:licenses")
  const mayWrite = useCan("write:licenses")
  const [opened, setOpened] = useState<{ readonly kind: "show" | "revoke"; readonly bundle: OfflineBundle }>()
  const rows = useRows(
    "GET /api/instances/:instanceSlug/offline-bundles",
    { params: { instanceSlug } },
    { when: mayRead },
  )
  if (!mayRead) return <NotAllowed scope="read:licenses" />
  const columns: ReadonlyArray<Column<OfflineBundle>> = [
    { id: "number", title: t.offline.sequence, width: "80px", cell: ({ sequence }) => `#${sequence}` },
    { id: "issued", title: t.offline.issued, width: "1.2fr", cell: ({ issuedAt }) => <Moment at={issuedAt} /> },
    { id: "renew", title: t.offline.renew, width: "1.2fr", cell: ({ renewAt }) => formatMoment(renewAt) },
    { id: "expires", title: common.common.expires, width: "1.2fr", cell: ({ expiresAt }) => <Moment at={expiresAt} /> },
    { id: "key", title: t.offline.keyId, width: "1.2fr", cell: ({ keyId }) => <Code>{keyId}</Code> },
    {
      id: "state",
      title: common.common.state,
      width: "1fr",
      cell: (bundle) => <ValidityTag of={bundle} texts={t.offline} />,
    },
    {
      id: "actions",
      title: common.common.actions,
      width: "140px",
      isUntitled: true,
      cell: (bundle) => (
        <span className="inline">
          <Button look="quiet" onPress={() => setOpened({ kind: "show", bundle })}>
            {t.offline.show}
          </Button>
          {mayWrite && validityOf(bundle) === "valid" && (
            <Button look="quiet" onPress={() => setOpened({ kind: "revoke", bundle })}>
              {common.common.revoke}
            </Button>
          )}
        </span>
      ),
    },
  ]
  const close = () => setOpened(undefined)
  return (
    <>
      <DataTable
        label={t.tabs.offline}
        unit="bundle"
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={<Empty title={t.offline.empty}>{t.offline.emptyDetail}</Empty>}
      />
      {opened?.kind === "show" && <ShowBundle bundle={opened.bundle} onClose={close} />}
      {opened?.kind === "revoke" && <RevokeBundle bundle={opened.bundle} onClose={close} />}
    </>
  )
}
