/** Reads license families and resolves them to their current version. */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { noSuch } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor } from "../../kernel/contract/Problem.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { GetLicenseFamilyNoPublishedVersion, LicenseFamilyNotFound, LicenseNotFound } from "./Errors.ts"
import { MAX_VERSIONS } from "./Model.ts"
import type { FamilyQuery, LicenseFamily, ResolvedLicenseFamily } from "./Model.ts"
import { LicensesRepo } from "./Repo.ts"
import type { FamilyRow } from "./Repo.ts"

/** Reads license families of the caller's organization. */
export class LicenseFamilies extends Context.Service<
  LicenseFamilies,
  {
    /**
     * A family with its current version and the versions that the query names. Fails if none is published, unless the
     * query names one.
     */
    readonly get: (
      slug: string,
      query: FamilyQuery,
    ) => Effect.Effect<
      ResolvedLicenseFamily,
      LicenseNotFound | LicenseFamilyNotFound | GetLicenseFamilyNoPublishedVersion,
      Caller
    >
    /** A page of families with their current versions, newest first. */
    readonly list: (request: PageRequest) => Effect.Effect<Page<LicenseFamily>, InvalidCursor, Caller>
  }
>()("keyshelf/licenses/LicenseFamilies") {
  static readonly layer = Layer.suspend(() => Layer.effect(LicenseFamilies, make))
}

const make = Effect.gen(function* () {
  const repo = yield* LicensesRepo
  const cursors = yield* Cursors

  const list = Effect.fn("LicenseFamilies.list")(function* (request: PageRequest) {
    const { organizationId } = yield* Caller
    const page = yield* cursors.page(
      { name: "license-families", organizationId },
      request,
      (after, count) => repo.listFamilies(organizationId, after, count),
      byId,
    )
    const ids = page.items.map((family) => family.id)
    const current = new Map(
      (yield* repo.currentVersions(organizationId, ids)).map((license) => [license.familyId, license]),
    )
    const items = page.items.map((family): LicenseFamily => ({
      ...family,
      currentVersion: current.get(family.id) ?? null,
    }))
    return { ...page, items }
  })

  const versionOf = Effect.fnUntraced(function* (organizationId: OrganizationId, family: FamilyRow, version: string) {
    const found = yield* repo.findVersion(organizationId, family.id, Number(version))
    if (Option.isSome(found)) return found.value
    return yield* new LicenseNotFound({ detail: `The license family "${family.slug}" has no version ${version}.` })
  })

  const get = Effect.fn("LicenseFamilies.get")(function* (slug: string, { include, version }: FamilyQuery) {
    const { organizationId } = yield* Caller
    const family = yield* repo.findFamily(organizationId, slug)
    if (Option.isNone(family)) return yield* new LicenseFamilyNotFound({ detail: noSuch("license family", slug) })
    const [currentVersion] = yield* repo.currentVersions(organizationId, [family.value.id])
    if (currentVersion === undefined && include === undefined && version === undefined) {
      return yield* new GetLicenseFamilyNoPublishedVersion({
        detail: `The license family "${slug}" has no published version. Publish a version first.`,
      })
    }
    const resolved: LicenseFamily = { ...family.value, currentVersion: currentVersion ?? null }
    return {
      ...resolved,
      ...(version === undefined ? {} : { version: yield* versionOf(organizationId, family.value, version) }),
      ...(include === undefined
        ? {}
        : { versions: yield* repo.listVersions(organizationId, family.value.id, MAX_VERSIONS) }),
    } satisfies ResolvedLicenseFamily
  })

  return { get, list }
})
