/** A field for the slug of a record. It can be typed; what matches a name or a slug is offered while typing. */
import { useQuery } from "@tanstack/react-query"
import { ChevronDown } from "lucide-react"
import { useEffect, useState } from "react"
import type { ReactNode } from "react"
import { Button, ComboBox, FieldError, Input, Label, ListBox, ListBoxItem, Popover, Text } from "react-aria-components"
import { call } from "../../kernel/Api.ts"
import { useCan } from "../../kernel/Scopes.ts"
import type { Scope } from "../../kernel/Scopes.ts"
import { t } from "./texts.en.ts"

const QUIET_MS = 200
const LIMIT = "20"

interface Found {
  readonly slug: string
  readonly name: string
}

interface Source {
  readonly path: string
  readonly scope: Scope
  readonly find: (q: string, signal: AbortSignal) => Promise<ReadonlyArray<Found>>
}

const sources = {
  customer: {
    path: "/api/customers",
    scope: "read:customers",
    find: async (q, signal) => (await call("GET /api/customers", { query: { q, limit: LIMIT } }, { signal })).items,
  },
  instance: {
    path: "/api/instances",
    scope: "read:instances",
    find: async (q, signal) => (await call("GET /api/instances", { query: { q, limit: LIMIT } }, { signal })).items,
  },
  license: {
    path: "/api/licenses",
    scope: "read:licenses",
    find: async (q, signal) =>
      (await call("GET /api/licenses", { query: { q, limit: LIMIT } }, { signal })).items.map(
        ({ name, slug, version }) => ({ slug, name: `${name} v${version}` }),
      ),
  },
  entitlement: {
    path: "/api/entitlements",
    scope: "read:entitlements",
    find: async (q, signal) => (await call("GET /api/entitlements", { query: { q, limit: LIMIT } }, { signal })).items,
  },
  entitlementGroup: {
    path: "/api/entitlement-groups",
    scope: "read:entitlements",
    // The list has no filter by name.
    find: async (q, signal) =>
      (await call("GET /api/entitlement-groups", { query: { limit: "200" } }, { signal })).items.filter(
        ({ name, slug }) => slug.startsWith(q) || name.toLowerCase().includes(q.toLowerCase()),
      ),
  },
} as const satisfies Record<string, Source>

/** A text once it has not changed for a moment. */
const useQuiet = (text: string): string => {
  const [quiet, setQuiet] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setQuiet(text), QUIET_MS)
    return () => clearTimeout(timer)
  }, [text])
  return quiet
}

export const RecordField = ({
  autoFocus = false,
  error,
  hint,
  isRequired = false,
  kind,
  label,
  onChange,
  onChoose,
  value,
}: {
  readonly kind: keyof typeof sources
  readonly label: string
  readonly hint?: ReactNode
  readonly error?: string | undefined
  readonly isRequired?: boolean
  readonly autoFocus?: boolean
  readonly value: string
  readonly onChange: (slug: string) => void
  /** A record was chosen from the list. */
  readonly onChoose?: (slug: string) => void
}) => {
  const { find, path, scope } = sources[kind]
  const q = useQuiet(value.trim())
  const isAllowed = useCan(scope)
  const found = useQuery<ReadonlyArray<Found>>({
    queryKey: [path, "offered", q],
    queryFn: ({ signal }) => find(q, signal),
    enabled: isAllowed,
    placeholderData: (before) => before,
  })
  return (
    <ComboBox
      className="field"
      inputValue={value}
      onInputChange={onChange}
      onSelectionChange={(key) => {
        if (key !== null) onChoose?.(String(key))
      }}
      items={found.data ?? []}
      defaultFilter={() => true}
      allowsCustomValue
      allowsEmptyCollection={isAllowed}
      isInvalid={error !== undefined}
      isRequired={isRequired}
      validationBehavior="aria"
      autoFocus={autoFocus}
    >
      <Label className="label">
        {label}
        {isRequired && <span aria-hidden> *</span>}
      </Label>
      <div className="input-with-button">
        <Input className="input mono" spellCheck={false} />
        <Button className="button icon">
          <ChevronDown aria-hidden size={14} />
        </Button>
      </div>
      {hint !== undefined && (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError className="field-error">{error}</FieldError>
      <Popover className="popover">
        <ListBox<Found>
          className="menu"
          renderEmptyState={() => <p className="palette-note">{found.isFetching ? t.searching : t.nothingFound}</p>}
        >
          {({ name, slug }) => (
            <ListBoxItem id={slug} textValue={slug} className="menu-item offered">
              <span>{name}</span>
              <span className="palette-detail">{slug}</span>
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  )
}
