/** Endpoints of components. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { DryRunImpact, dryRunQuery, DryRuns } from "../../kernel/contract/dryruns/DryRun.ts"
import { DeletionDryRun } from "../../kernel/contract/dryruns/ImpactModels.ts"
import { PathName } from "../../kernel/values/Text.ts"
import { ComponentNotFound, CreateComponentSlugTaken, DeleteComponentLinkedToRelease } from "./Errors.ts"
import { Component, componentFilters, ComponentImages, CreateComponent } from "./Model.ts"

const component = { componentSlug: PathName }

export class ComponentsApi extends HttpApiGroup.make("components")
  .add(
    HttpApiEndpoint.get("list", "/components", {
      query: { ...pageQuery, ...componentFilters },
      success: Page(Component),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:components")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List components",
          description: "Newest first. A filter that matches no record returns an empty page.",
        }),
      ),
    HttpApiEndpoint.post("create", "/components", {
      headers: idempotencyHeaders,
      payload: CreateComponent,
      success: Created(Component),
      error: [CreateComponentSlugTaken, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:components")
      .annotateMerge(
        exampleBody({
          name: "Search",
          version: "1.2.0",
          description: "Full-text search",
          images: [{ repository: "acme/search", reference: "1.2.0" }],
        }),
      )
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a component",
          description:
            "A component is one version of a software part. `previousComponentId` is the id of the previous version, and `images` are what the version is pulled as. If `slug` is omitted, it is generated as `<name>-<version>`.",
        }),
      ),
    HttpApiEndpoint.get("get", "/components/:componentSlug", {
      params: component,
      success: Component,
      error: ComponentNotFound,
    })
      .annotate(RequiredScope, "read:components")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a component",
          description: "Returns one version of a component. To see which components a release has, read the release.",
        }),
      ),
    HttpApiEndpoint.put("setImages", "/components/:componentSlug/images", {
      params: component,
      payload: ComponentImages,
      success: ComponentImages,
      error: [ComponentNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "write:components")
      .annotateMerge(exampleBody({ images: [{ repository: "acme/search", reference: "1.2.0" }] }))
      .annotateMerge(
        OpenApi.annotations({
          identifier: "setComponentImages",
          summary: "Set the images of a component",
          description:
            "Replaces all images of the component: the repositories of your registry that it is pulled from, each with a tag or a digest. An empty list removes them. Releases that contain the component show its images as they are now.",
        }),
      ),
    HttpApiEndpoint.delete("delete", "/components/:componentSlug", {
      params: component,
      query: dryRunQuery,
      success: [HttpApiSchema.NoContent, DeletionDryRun],
      error: [ComponentNotFound, DeleteComponentLinkedToRelease],
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:components")
      .annotate(DryRunImpact, "deletion")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a component",
          description: "Rejected with 409 while a release contains it.",
        }),
      ),
  )
  .annotateMerge(OpenApi.annotations({ title: "Components", description: "The versioned parts of releases." })) {}
