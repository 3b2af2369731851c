/** Fields that name the records of an instance: customer, license and zone. */
import { useAllRows, useQuiet, useRead, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { PickField, SuggestField } from "../widgets/forms/Pick.tsx"
import type { Candidate } from "../widgets/forms/Pick.tsx"
import { t } from "./texts.en.ts"

const SUGGESTIONS = "8"

interface Field {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly error: string | undefined
}

const candidateOf = ({ name, slug }: { readonly name: string; readonly slug: string }): Candidate => ({
  id: slug,
  title: slug,
  ...(name === slug ? {} : { detail: name }),
})

/** The customer by its slug, found by its name too. */
export const CustomerField = (field: Field) => {
  const q = useQuiet(field.value)
  const found = useRead("GET /api/customers", { query: { q, limit: SUGGESTIONS } }, { when: useCan("read:customers") })
  const choices = found.data?.items.map(candidateOf) ?? []
  return <SuggestField label={t.customer} hint={t.customerHint} isRequired isCode choices={choices} {...field} />
}

/** The license version by its slug. Only published ones are suggested. */
export const LicenseField = (field: Field) => {
  const q = useQuiet(field.value)
  const query = { q, limit: SUGGESTIONS, lifecycleState: "PUBLISHED" } as const
  const found = useRead("GET /api/licenses", { query }, { when: useCan("read:licenses") })
  const choices = found.data?.items.map(candidateOf) ?? []
  return <SuggestField label={t.license} hint={t.licenseHint} isRequired isCode choices={choices} {...field} />
}

/** The zone, which instances name by its id. */
export const ZoneField = (field: Field) => {
  const zones = useAllRows(useRows("GET /api/deployment-zones", {}))
  const choices = zones.rows?.map(({ id, name, slug }) => ({ id, title: name, detail: slug })) ?? []
  return <PickField label={t.zone} hint={t.zoneHint} choices={choices} {...field} />
}
