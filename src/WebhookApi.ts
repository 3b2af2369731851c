/** Webhook endpoint management: an API of its own, so that it can move to a listener of its own. */
import { HttpApi, OpenApi } from "effect/http-api"
import { strictBodies } from "./CoreApi.ts"

export class WebhookApi extends HttpApi.make("webhooks")
  .annotateMerge(strictBodies)
  .annotateMerge(
    OpenApi.annotations({
      title: "Keyshelf webhook API",
      version: "0.1.0",
      description: "Webhook endpoints and their delivery history. This version serves no operation here yet.",
      servers: [{ url: "http://127.0.0.1:8080", description: "The core listener on this machine" }],
    }),
  ) {}
