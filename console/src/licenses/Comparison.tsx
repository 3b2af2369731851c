/** Grants of license versions side by side: those of the family, and those of other families. */
import { useQueries } from "@tanstack/react-query"
import { useState } from "react"
import type { Grant, License } from "../kernel/Contract.ts"
import { keyOf, readAll, useRead } from "../kernel/Queries.ts"
import { useUrl } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { CheckField } from "../widgets/forms/Fields.tsx"
import { grantText } from "../widgets/records/GrantValue.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { RecordField } from "../widgets/records/RecordField.tsx"
import { Empty, Failure, Loading, Read } from "../widgets/States.tsx"
import { Tag } from "../widgets/Tag.tsx"
import { LicenseState } from "./LicenseState.tsx"
import { t } from "./texts.en.ts"

const GRANTS = "GET /api/licenses/:licenseSlug/entitlements"
/** How many versions are compared at first. */
const FIRST = 3

/** The grants of each version, read together. */
const useGrants = (slugs: ReadonlyArray<string>) =>
  useQueries({
    queries: slugs.map((licenseSlug) => {
      const request = { params: { licenseSlug } }
      return {
        queryKey: [...keyOf(GRANTS, request), "all"],
        queryFn: ({ signal }: { readonly signal: AbortSignal }) => readAll(GRANTS, request, signal),
      }
    }),
    combine: (answers) => ({
      error: answers.find(({ error }) => error !== null)?.error,
      retry: () => answers.forEach(({ refetch }) => void refetch()),
      isLoading: answers.some(({ data, error }) => data === undefined && error === null),
      maps: answers.map(({ data }) => new Map(data?.map((grant) => [grant.entitlementSlug, grant]))),
    }),
  })

const textOf = (grant: Grant | undefined): string => {
  if (grant === undefined) return t.versions.none
  const { overagePercent, value } = grant
  return overagePercent === 0 || overagePercent === null
    ? grantText(value)
    : `${grantText(value)} ${t.versions.overage(overagePercent)}`
}

interface Compared {
  readonly slug: string
  /** Of a version of the family. */
  readonly license: License | undefined
}

const Heading = ({
  compared: { license, slug },
  current,
}: {
  readonly compared: Compared
  readonly current: string
}) => {
  const name = license === undefined ? slug : `v${license.version}`
  return (
    <th scope="col">
      {slug === current ? (
        name
      ) : (
        <RecordLink kind="license" slug={slug}>
          {name}
        </RecordLink>
      )}{" "}
      {license !== undefined && <LicenseState state={license.lifecycleState} />}
    </th>
  )
}

const Table = ({ compared, current }: { readonly compared: ReadonlyArray<Compared>; readonly current: string }) => {
  const [onlyDifferences, setOnlyDifferences] = useState(false)
  const { error, isLoading, maps, retry } = useGrants(compared.map(({ slug }) => slug))
  if (isLoading) return <Loading />
  const lines = [...new Set(maps.flatMap((map) => [...map.keys()]))].sort().map((entitlement) => {
    const texts = maps.map((map) => textOf(map.get(entitlement)))
    return { entitlement, texts, differs: new Set(texts).size > 1 }
  })
  const shown = onlyDifferences ? lines.filter(({ differs }) => differs) : lines
  return (
    <>
      {error !== undefined && <Failure error={error} retry={retry} />}
      <CheckField label={t.versions.differences} isSelected={onlyDifferences} onChange={setOnlyDifferences} />
      {shown.length === 0 ? (
        <Empty title={lines.length === 0 ? t.noGrants : t.versions.same} />
      ) : (
        <div className="scroll wide" tabIndex={0} role="region" aria-label={t.tabs.versions}>
          <table className="plain">
            <thead>
              <tr>
                <th scope="col">{t.entitlement}</th>
                {compared.map((one) => (
                  <Heading key={one.slug} compared={one} current={current} />
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map(({ differs, entitlement, texts }) => (
                <tr key={entitlement}>
                  <th scope="row">
                    <RecordLink kind="entitlement" slug={entitlement} />{" "}
                    {differs && <Tag tone="warn">{t.versions.differs}</Tag>}
                  </th>
                  {compared.map(({ slug }, index) => (
                    <td key={slug}>{texts[index]}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}

/** The version of the page, and those beside it. */
const firstOf = (versions: ReadonlyArray<License>, current: string): ReadonlyArray<string> => {
  const at = Math.max(0, versions.findIndex(({ slug }) => slug === current) - 1)
  return versions.slice(at, at + FIRST).map(({ slug }) => slug)
}

const Chosen = ({ current, versions }: { readonly versions: ReadonlyArray<License>; readonly current: string }) => {
  const [{ compare }, setUrl] = useUrl()
  const [other, setOther] = useState("")
  const chosen = compare === undefined ? firstOf(versions, current) : compare.split(",").filter((slug) => slug !== "")
  const choose = (slugs: ReadonlyArray<string>) => setUrl({ compare: slugs.join(",") })
  const toggle = (slug: string, isIn: boolean) =>
    choose(isIn ? [...chosen, slug] : chosen.filter((one) => one !== slug))
  const isLast = chosen.length === 1
  const others = chosen.filter((slug) => !versions.some((version) => version.slug === slug))
  const compared = [
    ...versions.filter(({ slug }) => chosen.includes(slug)).map((license) => ({ slug: license.slug, license })),
    ...others.map((slug) => ({ slug, license: undefined })),
  ]
  return (
    <div className="stack">
      <fieldset className="fieldset">
        <legend className="label">{t.versions.choose}</legend>
        <div className="tags">
          {versions.map(({ slug, version }) => (
            <CheckField
              key={slug}
              label={`v${version} ${slug}`}
              isSelected={chosen.includes(slug)}
              isDisabled={isLast && chosen.includes(slug)}
              onChange={(isIn) => toggle(slug, isIn)}
            />
          ))}
          {others.map((slug) => (
            <CheckField key={slug} label={slug} isSelected isDisabled={isLast} onChange={() => toggle(slug, false)} />
          ))}
        </div>
      </fieldset>
      <form
        className="filters"
        onSubmit={(event) => {
          event.preventDefault()
          const slug = other.trim()
          if (slug !== "" && !chosen.includes(slug)) toggle(slug, true)
          setOther("")
        }}
      >
        <RecordField kind="license" label={t.versions.other} value={other} onChange={setOther} />
        <Button type="submit">{t.versions.add}</Button>
      </form>
      <Table compared={compared} current={current} />
    </div>
  )
}

export const Versions = ({ license }: { readonly license: License }) => {
  const family = useRead("GET /api/license-families/:licenseFamilySlug", {
    params: { licenseFamilySlug: license.familySlug },
    query: { include: "versions" },
  })
  return <Read of={family}>{({ versions = [] }) => <Chosen versions={versions} current={license.slug} />}</Read>
}
