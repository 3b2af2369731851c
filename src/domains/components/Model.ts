/** Components: the versioned parts of releases. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Slug } from "../../kernel/values/Slug.ts"
import { nameFilter } from "../../kernel/contract/Page.ts"
import { Description, Name, PathName } from "../../kernel/values/Text.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

/** The maximum number of images of a component. */
const MAX_IMAGES = 20

// The grammars of the OCI distribution specification.
const REPOSITORY = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/
const REFERENCE = /^(?:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}|sha256:[0-9a-f]{64})$/

const expectedRepository = "the path of an OCI repository in lower case, without the host, such as acme/search"
const expectedReference = "a tag, or a digest: sha256: and 64 hexadecimal digits in lower case"

/** An image in the vendor's registry. */
export const Image = Schema.Struct({
  repository: Schema.String.check(
    Schema.isMaxLength(255),
    Schema.isPattern(REPOSITORY, { expected: expectedRepository }),
  ).annotate({ description: "The path of the OCI repository, without the host of the registry" }),
  reference: Schema.String.check(Schema.isPattern(REFERENCE, { expected: expectedReference })).annotate({
    description: "A tag, or a digest such as `sha256:…` with 64 hexadecimal digits",
  }),
}).annotate(component("ComponentImage", { repository: "acme/search", reference: "1.2.0" }))
export type Image = typeof Image.Type

const Images = Schema.Array(Image).check(Schema.isMaxLength(MAX_IMAGES))

export const Component = Schema.Struct({
  id: Uuid,
  name: Schema.String,
  version: Schema.String,
  slug: Schema.String,
  description: Schema.NullOr(Schema.String),
  previousComponentId: Schema.NullOr(Uuid).annotate({
    description: "Id of the previous version of the component",
  }),
  images: Schema.Array(Image).annotate({ description: "What the component is pulled as, in the order given" }),
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
  images: Schema.optionalKey(Images),
}).annotate(component("CreateComponent"))
export type CreateComponent = typeof CreateComponent.Type

/** Body of `PUT /components/{componentSlug}/images`, and its response. */
export const ComponentImages = Schema.Struct({
  images: Images.annotate({ description: "All images of the component. Each repository only once" }),
}).annotate(component("ComponentImages"))
export type ComponentImages = typeof ComponentImages.Type

/** Filters of `GET /components`. */
export const componentFilters = {
  ...nameFilter,
  name: Schema.optionalKey(PathName.annotate({ description: "Only versions of the component with exactly this name" })),
  repository: Schema.optionalKey(
    PathName.annotate({ description: "Only components with an image in exactly this repository" }),
  ),
}
export interface ComponentFilters {
  readonly q?: string
  readonly name?: string
  readonly repository?: string
}
