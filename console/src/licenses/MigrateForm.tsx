/** Moves instances to another version, after a dry run lists the instances that would move and the checks whose result would change. */
import { useState } from "react"
import type { License } from "../kernel/Contract.ts"
import { orUndefined } from "../kernel/Inputs.ts"
import { defined } from "../kernel/Queries.ts"
import { Segments, TextField } from "../widgets/forms/Fields.tsx"
import { errorAt } from "../widgets/forms/Form.tsx"
import { MomentField } from "../widgets/forms/MomentField.tsx"
import { RecordField } from "../widgets/records/RecordField.tsx"
import { ReviewDialog } from "../widgets/records/ReviewDialog.tsx"
import { t } from "./texts.en.ts"

const MIGRATE = "POST /api/licenses/:licenseSlug/migrations"
const FIELDS = ["toLicenseSlug", "customer", "instances", "at"]

type Who = "all" | "customer" | "named"

const slugsOf = (text: string): ReadonlyArray<string> => text.split(/[\s,]+/).filter((slug) => slug !== "")

export const MigrateLicense = ({
  license,
  onClose,
  onStarted,
}: {
  readonly license: License
  readonly onClose: () => void
  readonly onStarted: (migrationId: string) => void
}) => {
  const [to, setTo] = useState("")
  const [who, setWho] = useState<Who>("all")
  const [customer, setCustomer] = useState("")
  const [instances, setInstances] = useState("")
  const [at, setAt] = useState("")
  const request = {
    params: { licenseSlug: license.slug },
    body: defined({
      toLicenseSlug: to.trim(),
      customer: who === "customer" ? customer.trim() : undefined,
      instances: who === "named" ? slugsOf(instances) : undefined,
      at: orUndefined(at),
    }),
  }
  return (
    <ReviewDialog
      title={t.migrate.title(license.slug)}
      submit={t.migrate.submit}
      fields={FIELDS}
      titles={{ instances: t.migrate.moved }}
      onClose={onClose}
      operation={MIGRATE}
      stale={["/api/license", "/api/instances"]}
      done={(migration) => {
        if ("id" in migration) onStarted(migration.id)
      }}
      request={request}
    >
      {(error) => (
        <>
          <RecordField
            kind="license"
            label={t.migrate.to}
            isRequired
            autoFocus
            value={to}
            onChange={setTo}
            error={errorAt(error, "toLicenseSlug")}
          />
          <Segments
            label={t.migrate.who}
            value={who}
            onChange={(id) => setWho(id as Who)}
            choices={[
              { id: "all", title: t.migrate.all },
              { id: "customer", title: t.migrate.ofCustomer },
              { id: "named", title: t.migrate.named },
            ]}
          />
          {who === "customer" && (
            <RecordField
              kind="customer"
              label={t.migrate.customer}
              isRequired
              value={customer}
              onChange={setCustomer}
              error={errorAt(error, "customer")}
            />
          )}
          {who === "named" && (
            <TextField
              kind="lines"
              isCode
              label={t.migrate.instances}
              hint={t.migrate.instancesHint}
              isRequired
              value={instances}
              onChange={setInstances}
              error={errorAt(error, "instances")}
            />
          )}
          <MomentField
            label={t.migrate.at}
            hint={t.migrate.atHint}
            value={at}
            onChange={setAt}
            error={errorAt(error, "at")}
          />
        </>
      )}
    </ReviewDialog>
  )
}
