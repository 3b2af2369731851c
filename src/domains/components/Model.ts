/** Components: the versioned parts of releases. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Slug } from "../../kernel/values/Slug.ts"
import { Description, Name } from "../../kernel/values/Text.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

export const Component = Schema.Struct({
  id: Uuid,
  name: Schema.String,
  version: Schema.String,
  slug: Schema.String,
  description: Schema.NullOr(Schema.String),
  previousComponentId: Schema.NullOr(Uuid).annotate({
    description: "Id of the previous version of the component",
  }),
  createdAt: Timestamp,
  createdBy: ActorReference,
}).annotate(
  component("Component", {
    name: "Search",
    version: "1.2.0",
    slug: "search-1-2-0",
    description: "Full-text search",
    previousComponentId: null,
  }),
)
export type Component = typeof Component.Type

/** Body of `POST /components`. */
export const CreateComponent = Schema.Struct({
  name: Name,
  version: Name,
  slug: Schema.optionalKey(Slug),
  description: Schema.optionalKey(Schema.NullOr(Description)),
  previousComponentId: Schema.optionalKey(Schema.NullOr(Uuid)),
}).annotate(component("CreateComponent"))
export type CreateComponent = typeof CreateComponent.Type
