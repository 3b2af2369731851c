/** `GET /members`: the people of the caller's organization. The operator changes them with the Platform API. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor } from "../../kernel/contract/Problem.ts"
import { Member } from "./Model.ts"

export class MembersApi extends HttpApiGroup.make("members")
  .add(
    HttpApiEndpoint.get("list", "/members", {
      query: pageQuery,
      success: Page(Member),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List members",
          description:
            "People who can sign in to the organization, newest first. Only the operator can add or remove them, or change their roles.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Members", description: "The people of the organization, and their roles." }),
  ) {}
