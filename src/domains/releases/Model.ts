/** Releases: immutable sets of components that deployment zones run. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { Component } from "../components/Model.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Slug } from "../../kernel/values/Slug.ts"
import { Description, Name } from "../../kernel/values/Text.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

/** The maximum number of components in a release. */
const MAX_COMPONENTS = 200

export const Release = Schema.Struct({
  id: Uuid,
  slug: Schema.String,
  version: Schema.String,
  description: Schema.NullOr(Schema.String),
  componentIds: Schema.Array(Uuid).annotate({
    description: "Ids of the linked components, in the order given at creation",
  }),
  components: Schema.Array(Component).annotate({
    description: "The linked components, in the order of `componentIds`",
  }),
  createdAt: Timestamp,
  createdBy: ActorReference,
}).annotate(component("Release", { slug: "2026-1", version: "2026.1", description: "The first release of 2026" }))
export type Release = typeof Release.Type

/** Body of `POST /releases`. */
export const CreateRelease = Schema.Struct({
  version: Name,
  slug: Schema.optionalKey(Slug),
  description: Schema.optionalKey(Schema.NullOr(Description)),
  componentIds: Schema.optionalKey(Schema.Array(Uuid).check(Schema.isMaxLength(MAX_COMPONENTS))),
}).annotate(component("CreateRelease"))
export type CreateRelease = typeof CreateRelease.Type
