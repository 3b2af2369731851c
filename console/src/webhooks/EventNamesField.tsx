/** Chooses events by module, or all. */
import { useState } from "react"
import { eventNames } from "../kernel/contract/EventNames.ts"
import { eventWords, words } from "../kernel/Formats.ts"
import { CheckField, Fieldset, TextField } from "../widgets/forms/Fields.tsx"
import { t } from "./texts.en.ts"

const ALL = "*"

/** Modules of two words; the others are the first word of a name. */
const MODULES = [
  "DEPLOYMENT_ZONE",
  "FEATURE_FLAG",
  "LICENSE_MIGRATION",
  "METADATA_FIELD",
  "OFFLINE_BUNDLE",
  "SERVICE_ACCOUNT",
  "SIGNING_KEY",
  "USAGE_EVENT",
]

const moduleOf = (name: string): string =>
  MODULES.find((module) => name.startsWith(`${module}_`)) ?? name.slice(0, name.indexOf("_"))

const byModule = Object.entries(Object.groupBy(eventNames, moduleOf)).map(
  ([module, names = []]) => [module, names] as const,
)

interface Choosing {
  readonly names: ReadonlyArray<string>
  readonly onChange: (names: ReadonlyArray<string>) => void
}

/** The events of a module that the search leaves. Several have a box for all of them. */
const Module = ({
  module,
  names,
  onChange,
  shown,
}: Choosing & { readonly module: string; readonly shown: ReadonlyArray<string> }) => {
  const set = (some: ReadonlyArray<string>, isChosen: boolean) =>
    onChange(isChosen ? [...new Set([...names, ...some])] : names.filter((name) => !some.includes(name)))
  return (
    <div role="group" aria-label={words(module)}>
      {shown.length > 1 && (
        <CheckField
          label={<strong>{t.allOf(words(module))}</strong>}
          isSelected={shown.every((name) => names.includes(name))}
          onChange={(isChosen) => set(shown, isChosen)}
        />
      )}
      {shown.map((name) => (
        <CheckField
          key={name}
          label={eventWords(name)}
          isSelected={names.includes(name)}
          onChange={(isChosen) => set([name], isChosen)}
        />
      ))}
    </div>
  )
}

export const EventNamesField = ({ error, names, onChange }: Choosing & { readonly error: string | undefined }) => {
  const [search, setSearch] = useState("")
  const text = search.trim().toLowerCase().replaceAll("_", " ")
  const modules = byModule
    .map(
      ([module, all]) =>
        [module, all.filter((name) => `${words(name)} ${eventWords(name)}`.toLowerCase().includes(text))] as const,
    )
    .filter(([, shown]) => shown.length > 0)
  const isAll = names.includes(ALL)
  return (
    <Fieldset label={t.events} error={error}>
      <CheckField label={t.allEvents} isSelected={isAll} onChange={(isChosen) => onChange(isChosen ? [ALL] : [])} />
      {!isAll && (
        <>
          <TextField
            kind="search"
            label={t.searchEvents}
            hint={t.chosen(names.length)}
            value={search}
            onChange={setSearch}
          />
          <div className="choices" role="group" aria-label={t.events} tabIndex={0}>
            {modules.map(([module, shown]) => (
              <Module key={module} module={module} shown={shown} names={names} onChange={onChange} />
            ))}
          </div>
        </>
      )}
    </Fieldset>
  )
}
