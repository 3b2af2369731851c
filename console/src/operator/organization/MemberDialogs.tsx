/** Adding a person to an organization, changing a role, and ending a membership. */
import { useEffect, useState } from "react"
import type { Membership, Organization } from "../../kernel/Contract.ts"
import { useRecordForm } from "../../kernel/forms/Update.ts"
import { foundIn, readAll, useRows, useWrite } from "../../kernel/Queries.ts"
import { t as common } from "../../kernel/texts.en.ts"
import { SelectField } from "../../widgets/forms/Fields.tsx"
import { ConfirmDialog, errorAt, FormDialog } from "../../widgets/forms/Form.tsx"
import { Failure, Loading } from "../../widgets/States.tsx"
import { t } from "../texts.en.ts"

const STALE = { stale: ["/api/platform/organizations/:orgId/memberships"] }
const roles = ["ADMIN", "MEMBER", "VIEWER"] as const
type Role = Membership["role"]

const RoleField = ({ onChange, value }: { readonly value: Role; readonly onChange: (role: Role) => void }) => (
  <SelectField
    label={t.role}
    value={value}
    onChange={(id) => onChange(roles.find((role) => role === id) ?? value)}
    choices={roles.map((id) => ({ id, title: t.roles[id] }))}
  />
)

export const AddMember = ({
  onClose,
  organization,
}: {
  readonly organization: Organization
  readonly onClose: () => void
}) => {
  const params = { orgId: organization.id }
  const users = useRows("GET /api/platform/users", {})
  const members = useRows("GET /api/platform/organizations/:orgId/memberships", { params })
  const [userId, setUserId] = useState<string>()
  const [role, setRole] = useState<Role>("MEMBER")
  const write = useWrite("POST /api/platform/organizations/:orgId/memberships", { ...STALE, done: onClose })
  // The choice must know everyone.
  useEffect(() => {
    for (const list of [users, members]) if (list.hasMore && !list.isLoadingMore && list.error === null) list.loadMore()
  })
  const isLoading = [users, members].some(({ hasMore, rows }) => rows === undefined || hasMore)
  const failed = [users, members].find(({ error }) => error !== null)
  const known = new Set(members.rows?.map((member) => member.userId))
  const choices = (users.rows ?? []).filter(({ id }) => !known.has(id))
  const chosen = userId ?? choices[0]?.id
  return (
    <FormDialog
      title={t.addMember}
      submit={t.addMember}
      fields={["userId"]}
      isDisabled={isLoading || chosen === undefined}
      onClose={onClose}
      write={write}
      onSubmit={() => {
        if (chosen !== undefined) write.mutate({ params, body: { userId: chosen, role } })
      }}
    >
      {failed !== undefined ? (
        <Failure error={failed.error} retry={failed.retry} />
      ) : isLoading ? (
        <Loading rows={1} />
      ) : chosen === undefined ? (
        <p>{t.allAreMembers}</p>
      ) : (
        <SelectField
          label={t.person}
          hint={t.personHint}
          value={chosen}
          onChange={setUserId}
          error={errorAt(write.error, "userId")}
          choices={choices.map(({ email, id, name }) => ({ id, title: email === null ? name : `${name} (${email})` }))}
        />
      )}
      <RoleField value={role} onChange={setRole} />
    </FormDialog>
  )
}

const paramsOf = ({ organizationId, userId }: Membership) => ({ orgId: organizationId, userId })

/** The membership as it is stored. It has no path to read, so this reads the list. */
const membershipOf = async ({ organizationId, userId }: Membership): Promise<Membership> => {
  const request = { params: { orgId: organizationId } }
  const all = await readAll("GET /api/platform/organizations/:orgId/memberships", request)
  return foundIn(all, (one) => one.userId === userId)
}

export const ChangeRole = ({
  membership,
  onClose,
}: {
  readonly membership: Membership
  readonly onClose: () => void
}) => {
  const params = paramsOf(membership)
  const { dialog, setValues, values } = useRecordForm("PATCH /api/platform/organizations/:orgId/memberships/:userId", {
    record: membership,
    valuesOf: ({ role }) => ({ role }),
    bodyOf: (typed) => typed,
    read: () => membershipOf(membership),
    // The dialog changes the role or sends nothing.
    request: ({ role = membership.role }) => ({ params, body: { role } }),
    ...STALE,
    done: onClose,
  })
  return (
    <FormDialog
      title={t.changeRole(membership.userName)}
      submit={common.common.save}
      fields={["role"]}
      onClose={onClose}
      {...dialog}
    >
      <RoleField value={values.role} onChange={(role) => setValues({ role })} />
    </FormDialog>
  )
}

export const RemoveMember = ({
  membership,
  onClose,
}: {
  readonly membership: Membership
  readonly onClose: () => void
}) => {
  const write = useWrite("DELETE /api/platform/organizations/:orgId/memberships/:userId", { ...STALE, done: onClose })
  return (
    <ConfirmDialog
      title={t.removeMember(membership.userName)}
      submit={common.common.remove}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: paramsOf(membership) })}
    >
      <p>{t.removeMemberText}</p>
    </ConfirmDialog>
  )
}
