/** Columns that the lists of releases and of components have. */
import type { Component, Release } from "../kernel/Contract.ts"
import { t as common } from "../kernel/texts.en.ts"
import type { Column } from "../widgets/DataTable.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { nameOf } from "./Lists.ts"
import { t } from "./texts.en.ts"

export const releaseColumn: Column<Release> = {
  id: "release",
  title: t.release,
  width: "1.5fr",
  cell: ({ slug, version }) => (
    <>
      <RecordLink kind="release" slug={slug}>
        {version}
      </RecordLink>
      <span className="sub">{slug}</span>
    </>
  ),
}

export const componentColumn: Column<Component> = {
  id: "component",
  title: t.component,
  width: "2fr",
  cell: (component) => (
    <>
      <RecordLink kind="component" slug={component.slug}>
        {nameOf(component)}
      </RecordLink>
      <span className="sub">{component.slug}</span>
    </>
  ),
}

export const descriptionColumn: Column<Component | Release> = {
  id: "description",
  title: common.common.description,
  width: "2fr",
  cell: ({ description }) => description,
}
