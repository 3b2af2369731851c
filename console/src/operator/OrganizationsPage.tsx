/** The organizations of the installation. */
import { Plus } from "lucide-react"
import { useState } from "react"
import type { Organization } from "../kernel/Contract.ts"
import { HOUR_MS } from "../kernel/Formats.ts"
import { orNull, orUndefined } from "../kernel/Inputs.ts"
import { defined, useRows, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { TextField } from "../widgets/forms/Fields.tsx"
import { errorAt, FormDialog } from "../widgets/forms/Form.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { SecretDialog } from "../widgets/Secret.tsx"
import { Empty, ReadOnly } from "../widgets/States.tsx"
import { Moment } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

const FIELDS = ["name", "slug", "externalId"] as const

const CreateOrganization = ({ onClose }: { readonly onClose: () => void }) => {
  const [values, setValues] = useState({ name: "", slug: "", externalId: "" })
  const write = useWrite("POST /api/platform/organizations", { stale: ["/api/platform/organizations"], done: onClose })
  const field = (name: (typeof FIELDS)[number]) => ({
    value: values[name],
    onChange: (value: string) => setValues({ ...values, [name]: value }),
    error: errorAt(write.error, name),
  })
  return (
    <FormDialog
      title={t.create}
      submit={common.common.create}
      fields={FIELDS}
      onClose={onClose}
      write={write}
      onSubmit={() =>
        write.mutate({
          body: defined({
            name: values.name,
            slug: orUndefined(values.slug),
            externalId: orNull(values.externalId),
          }),
        })
      }
    >
      <TextField label={common.common.name} isRequired autoFocus {...field("name")} />
      <TextField label={common.common.slug} hint={common.common.slugHint} isCode {...field("slug")} />
      <TextField label={t.externalId} {...field("externalId")} />
    </FormDialog>
  )
}

/** Issues a token for an hour: with it the operator works as the organization, and the organization's events say so. */
const IssueToken = ({
  onClose,
  organization,
}: {
  readonly organization: Organization
  readonly onClose: () => void
}) => {
  const [token, setToken] = useState<string>()
  const write = useWrite("POST /api/platform/organizations/:orgId/tokens", {
    stale: [],
    done: (issued) => setToken(issued.token),
  })
  if (token !== undefined) {
    return <SecretDialog secret={{ title: t.secret, hint: t.secretHint, value: token }} onClose={onClose} />
  }
  return (
    <FormDialog
      title={`${t.open}: ${organization.name}`}
      submit={t.open}
      onClose={onClose}
      write={write}
      onSubmit={() =>
        write.mutate({
          params: { orgId: organization.id },
          body: { name: "Operator's console", expiresAt: new Date(Date.now() + HOUR_MS).toISOString() },
        })
      }
    >
      <p>{t.openHint}</p>
    </FormDialog>
  )
}

export const Page = () => {
  const rows = useRows("GET /api/platform/organizations", {})
  const mayWrite = useCan("write:organizations")
  const mayIssue = useCan("write:tokens")
  const [isCreating, setCreating] = useState(false)
  const [opened, setOpened] = useState<Organization>()
  const create = mayWrite && (
    <Button look="primary" icon={<Plus aria-hidden size={16} />} onPress={() => setCreating(true)}>
      {t.create}
    </Button>
  )
  const columns: ReadonlyArray<Column<Organization>> = [
    {
      id: "name",
      title: common.common.name,
      width: "2fr",
      cell: ({ name, slug }) => (
        <>
          {name}
          <span className="sub">{slug}</span>
        </>
      ),
    },
    { id: "external", title: t.externalId, width: "1.5fr", cell: ({ externalId }) => externalId },
    {
      id: "created",
      title: common.common.created,
      width: "1.5fr",
      cell: ({ createdAt, createdBy }) => (
        <>
          <Moment at={createdAt} />
          <span className="sub">{common.common.by(createdBy.name)}</span>
        </>
      ),
    },
    {
      id: "open",
      title: t.open,
      width: "110px",
      isUntitled: true,
      cell: (organization) =>
        mayIssue ? (
          <Button look="quiet" onPress={() => setOpened(organization)}>
            {t.open}
          </Button>
        ) : null,
    },
  ]
  return (
    <>
      <PageHead title={t.organizations} actions={create} />
      {!mayWrite && <ReadOnly />}
      <DataTable
        label={t.organizations}
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <Empty title={t.empty} action={create}>
            {t.emptyDetail}
          </Empty>
        }
      />
      {isCreating && <CreateOrganization onClose={() => setCreating(false)} />}
      {opened !== undefined && <IssueToken organization={opened} onClose={() => setOpened(undefined)} />}
    </>
  )
}
