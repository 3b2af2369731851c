/** License keys of the instance: issued, rotated, revoked. */
import { Plus } from "lucide-react"
import { lazy, Suspense, useState } from "react"
import type { Body, LicenseKey } from "../kernel/Contract.ts"
import { orUndefined, orUndefinedNumber } from "../kernel/Inputs.ts"
import { defined, useRows, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { CheckField, TextField } from "../widgets/forms/Fields.tsx"
import { errorAt, FormDialog } from "../widgets/forms/Form.tsx"
import { MomentField } from "../widgets/forms/MomentField.tsx"
import { SecretDialog } from "../widgets/Secret.tsx"
import { ValidityTag, validityOf } from "../widgets/tokens/Validity.tsx"
import { Empty, NotAllowed } from "../widgets/States.tsx"
import { Code, Moment } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

const RevokeToken = lazy(() =>
  import("../widgets/tokens/RevokeToken.tsx").then((module) => ({ default: module.RevokeToken })),
)

type KeyScope = NonNullable<Body<"POST /api/instances/:instanceSlug/keys">["scopes"]>[number]

const scopes: ReadonlyArray<readonly [KeyScope, string]> = [
  ["read:instances", t.keys.read],
  ["write:instances", t.keys.write],
  ["read:feature_flags", t.keys.flags],
  ["read:licenses", t.keys.licenses],
]

const CreateKey = ({
  instanceSlug,
  onClose,
  onIssued,
}: {
  readonly instanceSlug: string
  readonly onClose: () => void
  readonly onIssued: (token: string) => void
}) => {
  const [name, setName] = useState("")
  const [expires, setExpires] = useState("")
  const [chosen, setChosen] = useState<ReadonlyArray<KeyScope>>(["read:instances", "write:instances"])
  const write = useWrite("POST /api/instances/:instanceSlug/keys", {
    stale: ["/api/instances"],
    done: ({ token }) => onIssued(token),
  })
  return (
    <FormDialog
      title={t.keys.add}
      submit={common.common.create}
      fields={["name", "expiresAt"]}
      onClose={onClose}
      write={write}
      onSubmit={() =>
        write.mutate({
          params: { instanceSlug },
          body: defined({ name, scopes: chosen, expiresAt: orUndefined(expires) }),
        })
      }
    >
      <TextField
        label={common.common.name}
        isRequired
        autoFocus
        value={name}
        onChange={setName}
        error={errorAt(write.error, "name")}
      />
      <fieldset className="fieldset">
        <legend className="label">{t.keys.scopes}</legend>
        {scopes.map(([scope, title]) => (
          <CheckField
            key={scope}
            label={title}
            isSelected={chosen.includes(scope)}
            onChange={(isSelected) =>
              setChosen(isSelected ? [...chosen, scope] : chosen.filter((one) => one !== scope))
            }
          />
        ))}
      </fieldset>
      <MomentField
        label={t.keys.expires}
        value={expires}
        onChange={setExpires}
        error={errorAt(write.error, "expiresAt")}
      />
    </FormDialog>
  )
}

const RotateKey = ({
  instanceSlug,
  licenseKey,
  onClose,
  onIssued,
}: {
  readonly instanceSlug: string
  readonly licenseKey: LicenseKey
  readonly onClose: () => void
  readonly onIssued: (token: string) => void
}) => {
  const [seconds, setSeconds] = useState("3600")
  const write = useWrite("POST /api/instances/:instanceSlug/keys/:keySlug/rotate", {
    stale: ["/api/instances"],
    done: ({ token }) => onIssued(token),
  })
  return (
    <FormDialog
      title={t.keys.rotateTitle(licenseKey.name)}
      submit={common.common.rotate}
      fields={["gracePeriodSeconds"]}
      onClose={onClose}
      write={write}
      onSubmit={() =>
        write.mutate({
          params: { instanceSlug, keySlug: licenseKey.slug },
          body: defined({ gracePeriodSeconds: orUndefinedNumber(seconds) }),
        })
      }
    >
      <p>{t.keys.rotateText}</p>
      <TextField
        kind="decimal"
        label={t.keys.grace}
        value={seconds}
        onChange={setSeconds}
        error={errorAt(write.error, "gracePeriodSeconds")}
      />
    </FormDialog>
  )
}

type Opened =
  | { readonly kind: "rotate" | "revoke"; readonly key: LicenseKey }
  | { readonly kind: "create" }
  | { readonly kind: "secret"; readonly token: string }

export const KeysTab = ({ instanceSlug }: { readonly instanceSlug: string }) => {
  const mayRead = useCan("read:tokens")
  const mayWrite = useCan("write:tokens")
  const [opened, setOpened] = useState<Opened>()
  const rows = useRows("GET /api/instances/:instanceSlug/keys", { params: { instanceSlug } }, { when: mayRead })
  if (!mayRead) return <NotAllowed scope="read:tokens" />
  const close = () => setOpened(undefined)
  const issued = (token: string) => setOpened({ kind: "secret", token })
  const columns: ReadonlyArray<Column<LicenseKey>> = [
    {
      id: "name",
      title: common.common.name,
      width: "2fr",
      cell: ({ lastFour, name }) => (
        <>
          {name} <Code>...{lastFour}</Code>
        </>
      ),
    },
    { id: "scopes", title: t.keys.scopes, width: "2fr", cell: ({ scopes: held }) => <Code>{held.join(", ")}</Code> },
    {
      id: "used",
      title: t.keys.lastUsed,
      width: "1fr",
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? common.common.never : <Moment at={lastUsedAt} relative />),
    },
    {
      id: "expires",
      title: common.common.expires,
      width: "1.2fr",
      cell: ({ expiresAt }) => (expiresAt === null ? common.common.never : <Moment at={expiresAt} />),
    },
    { id: "state", title: common.common.state, width: "1fr", cell: (key) => <ValidityTag of={key} texts={t.keys} /> },
    {
      id: "actions",
      title: common.common.actions,
      width: "140px",
      isUntitled: true,
      cell: (key) =>
        mayWrite && validityOf(key) === "valid" ? (
          <span className="inline">
            <Button look="quiet" onPress={() => setOpened({ kind: "rotate", key })}>
              {common.common.rotate}
            </Button>
            <Button look="quiet" onPress={() => setOpened({ kind: "revoke", key })}>
              {common.common.revoke}
            </Button>
          </span>
        ) : null,
    },
  ]
  return (
    <>
      {mayWrite && (
        <div className="tab-tools">
          <Button icon={<Plus aria-hidden size={16} />} onPress={() => setOpened({ kind: "create" })}>
            {t.keys.add}
          </Button>
        </div>
      )}
      <DataTable
        label={t.tabs.keys}
        unit="key"
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={<Empty title={t.keys.empty}>{t.keys.emptyDetail}</Empty>}
      />
      {opened?.kind === "create" && <CreateKey instanceSlug={instanceSlug} onClose={close} onIssued={issued} />}
      {opened?.kind === "rotate" && (
        <RotateKey instanceSlug={instanceSlug} licenseKey={opened.key} onClose={close} onIssued={issued} />
      )}
      <Suspense fallback={null}>
        {opened?.kind === "revoke" && <RevokeToken owner={{ instanceSlug }} token={opened.key} onClose={close} />}
      </Suspense>
      {opened?.kind === "secret" && (
        <SecretDialog secret={{ title: t.keys.secret, hint: t.keys.secretHint, value: opened.token }} onClose={close} />
      )}
    </>
  )
}
