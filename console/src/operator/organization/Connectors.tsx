/** The connectors that an organization may activate: all, or chosen ones. */
import { useEffect } from "react"
import { call } from "../../kernel/Api.ts"
import type { Answer, Organization } from "../../kernel/Contract.ts"
import { resolutionOf, useEdit, useFollow, useUpdate } from "../../kernel/forms/Update.ts"
import { useRead, useRows } from "../../kernel/Queries.ts"
import { useCan } from "../../kernel/Scopes.ts"
import { t as common } from "../../kernel/texts.en.ts"
import { announce } from "../../kernel/Announcements.ts"
import { Button } from "../../widgets/Button.tsx"
import { CheckField } from "../../widgets/forms/Fields.tsx"
import { FormFailure } from "../../widgets/forms/Form.tsx"
import { Failure, Loading, Read } from "../../widgets/States.tsx"
import { t } from "../texts.en.ts"

const ALL = "*"

const Choice = ({
  inclusion,
  organization,
}: {
  readonly organization: Organization
  readonly inclusion: Answer<"GET /api/platform/organizations/:orgId/license">
}) => {
  const registry = useRows("GET /api/platform/connectors", {})
  const mayWrite = useCan("write:organizations")
  const params = { orgId: organization.id }
  const form = useEdit(
    inclusion,
    ({ connectors }) => ({ chosen: connectors }),
    ({ chosen }) => ({ connectors: chosen.includes(ALL) ? [ALL] : chosen.toSorted() }),
  )
  useFollow(inclusion, form.edit === undefined, form.take)
  const update = useUpdate("PUT /api/platform/organizations/:orgId/license", {
    read: () => call("GET /api/platform/organizations/:orgId/license", { params }),
    // The button is there only if the list changed.
    request: ({ connectors = inclusion.connectors }: { readonly connectors?: ReadonlyArray<string> }) => ({
      params,
      body: { connectors },
    }),
    stale: ["/api/platform/organizations/:orgId/license"],
    done: (saved) => {
      if (saved !== undefined) form.take(saved)
      announce(common.common.saved)
    },
  })
  const { hasMore, isLoadingMore, loadMore } = registry
  useEffect(() => {
    if (hasMore && !isLoadingMore) loadMore()
  }, [hasMore, isLoadingMore, loadMore])
  const { chosen } = form.values
  const includesAll = chosen.includes(ALL)
  const set = (name: string, isSelected: boolean) =>
    form.setValues({ chosen: isSelected ? [...chosen, name] : chosen.filter((one) => one !== name) })
  if (registry.rows === undefined) {
    return registry.error === null ? <Loading rows={3} /> : <Failure error={registry.error} retry={registry.retry} />
  }
  // A connector that is included stays in the list when it is no longer registered.
  const names = [...new Set([...registry.rows.map(({ name }) => name), ...inclusion.connectors])].filter(
    (name) => name !== ALL,
  )
  return (
    <div className="stack">
      <p className="muted">{t.connectorsHint}</p>
      <CheckField
        label={t.allConnectors}
        isSelected={includesAll}
        isDisabled={!mayWrite}
        onChange={(isSelected) => set(ALL, isSelected)}
      />
      {names.length === 0 && <p className="muted">{t.noConnectors}</p>}
      {names.map((name) => (
        <CheckField
          key={name}
          label={<code className="slug">{name}</code>}
          isSelected={includesAll || chosen.includes(name)}
          isDisabled={!mayWrite || includesAll}
          onChange={(isSelected) => set(name, isSelected)}
        />
      ))}
      <FormFailure error={update.error} fields={[]} resolution={resolutionOf(update.error, form, update.reset)} />
      {mayWrite && (
        <div className="actions">
          <Button
            look="primary"
            isDisabled={form.edit === undefined}
            isPending={update.isPending}
            onPress={() => update.save(form.edit)}
          >
            {common.common.save}
          </Button>
        </div>
      )}
    </div>
  )
}

export const Connectors = ({ organization }: { readonly organization: Organization }) => {
  const inclusion = useRead("GET /api/platform/organizations/:orgId/license", { params: { orgId: organization.id } })
  return (
    <Read of={inclusion} rows={3}>
      {(found) => <Choice inclusion={found} organization={organization} />}
    </Read>
  )
}
