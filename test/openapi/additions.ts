/** Changes that are new and optional, and those that clients must expect, each by itself. */
import { CUSTOMER, CUSTOMERS, optional, orNull, parameter, property, schema } from "./mutation.ts"
import type { Mutant } from "./mutation.ts"

export const additions: ReadonlyArray<Mutant> = [
  {
    name: "a new operation",
    api: "core",
    change: ({ paths }) => (paths["/api/contracts"] = structuredClone(paths[CUSTOMERS])),
  },
  {
    name: "a new optional parameter",
    api: "core",
    change: ({ paths }) => paths[CUSTOMERS].get.parameters.push({ name: "region", in: "query", schema: {} }),
  },
  {
    name: "a parameter that accepts more",
    api: "core",
    change: ({ paths }) => (parameter(paths[CUSTOMERS].get, "limit").schema.maximum = 500),
  },
  {
    name: "a new response property",
    api: "core",
    change: (document) => {
      schema(document, "Customer").properties.region = { type: "string" }
      schema(document, "Customer").required.push("region")
    },
  },
  {
    name: "a new optional request property",
    api: "core",
    change: (document) => (schema(document, "CreateCustomer").properties.region = { type: "string" }),
  },
  {
    name: "a request property that is no longer required and accepts more",
    api: "core",
    change: (document) => {
      optional(document, "CreateCustomer", "name")
      property(document, "CreateCustomer", "name").maxLength = 500
      orNull(document, "CreateCustomer", "name")
    },
  },
  {
    name: "a response property that is never null any more",
    api: "core",
    change: (document) => (schema(document, "Customer").properties.domain = { type: "string" }),
  },
  {
    name: "a new type of event",
    api: "core",
    change: (document) => schema(document, "EventName").enum.push("CUSTOMER_MERGED"),
  },
  {
    name: "a new event in webhooks",
    api: "webhooks",
    change: ({ webhooks }) => (webhooks.CUSTOMER_MERGED = structuredClone(webhooks.LICENSE_ARCHIVED)),
  },
  {
    name: "a new reason of a check",
    api: "core",
    change: (document) => schema(document, "CheckReason").enum.push("REGION_CLOSED"),
  },
  {
    name: "a new problem of an operation",
    api: "core",
    change: (document) => {
      const { [CUSTOMER]: path } = document.paths
      const added = structuredClone(schema(document, "CustomerNotFound"))
      added.allOf[1].properties.code.enum = ["Customer.Merged"]
      document.components.schemas["CustomerMerged"] = added
      const media = path.get.responses["404"].content["application/problem+json"]
      media.schema = { anyOf: [media.schema, { $ref: "#/components/schemas/CustomerMerged" }] }
    },
  },
  {
    name: "a new problem with a status of its own",
    api: "core",
    change: ({ paths }) => (paths[CUSTOMERS].get.responses["410"] = paths[CUSTOMER].get.responses["404"]),
  },
]
