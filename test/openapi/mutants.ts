/** Changes that a client of the version before notices, each by itself. */
import type { Schema } from "../support/schemas.ts"
import { CUSTOMER, CUSTOMERS, optional, orNull, parameter, property, schema, without } from "./mutation.ts"
import type { Mutant } from "./mutation.ts"

/** What a response loses. */
const responses: ReadonlyArray<Mutant> = [
  {
    name: "an operation is gone",
    api: "core",
    change: (document) => delete document.paths[CUSTOMERS].get,
    noticed: `get ${CUSTOMERS} is gone`,
  },
  {
    name: "a response status is gone",
    api: "core",
    change: (document) => delete document.paths[CUSTOMERS].post.responses["201"],
    noticed: `post ${CUSTOMERS} 201 is gone`,
  },
  {
    name: "a shared response has lost its content",
    api: "core",
    change: (document) => delete document.components.responses.ServiceUnavailable.content,
    noticed: `delete ${CUSTOMER} 503 application/problem+json is gone`,
  },
  {
    name: "a response media type is gone",
    api: "core",
    change: (document) => delete document.paths["/api/events"].get.responses["200"].content["text/event-stream"],
    noticed: "get /api/events 200 text/event-stream is gone",
  },
  {
    name: "a response header is gone",
    api: "core",
    change: (document) => delete document.paths[CUSTOMERS].post.responses["201"].headers.location,
    noticed: `post ${CUSTOMERS} 201 location is gone`,
  },
  {
    name: "a response property is gone",
    api: "core",
    change: (document) => delete schema(document, "Customer").properties.domain,
    noticed: "Customer.domain is gone from responses",
  },
  {
    name: "a response property is no longer required",
    api: "core",
    change: (document) => optional(document, "Customer", "domain"),
    noticed: "Customer.domain is no longer always in responses",
  },
  {
    name: "a response property may be null",
    api: "platform",
    change: (document) => orNull(document, "Organization", "name"),
    noticed: "Organization.name can be null",
  },
  {
    name: "a response property has another type",
    api: "core",
    change: (document) => (property(document, "CustomerPage", "hasMore").type = "string"),
    noticed: "CustomerPage.hasMore can be string",
  },
  {
    name: "a response property has lost its format",
    api: "core",
    change: (document) => delete property(document, "Customer", "id").format,
    noticed: "Customer.id no longer has the format uuid",
  },
  {
    name: "the items of a list are others",
    api: "core",
    change: (document) => (property(document, "CustomerPage", "items").items = { type: "string" }),
    noticed: "CustomerPage.items[] can be string",
  },
  {
    name: "an enum of responses has a further value",
    api: "core",
    change: (document) => schema(document, "LifecycleState").enum.push("PAUSED"),
    noticed: "LifecycleState can be PAUSED",
  },
  {
    name: "a problem has another title",
    api: "core",
    change: (document) => (schema(document, "CustomerNotFound").allOf[1].properties.title.enum = ["No such customer"]),
    noticed: "CustomerNotFound.title can be No such customer",
  },
  {
    name: "problems have lost a property",
    api: "core",
    change: (document) => {
      delete schema(document, "Problem").properties.errorId
      optional(document, "Problem", "errorId")
    },
    noticed: "CustomerNotFound.errorId is gone from responses",
  },
  {
    name: "an event is gone",
    api: "webhooks",
    change: (document) => delete document.webhooks.LICENSE_ARCHIVED,
    noticed: "post LICENSE_ARCHIVED is gone",
  },
  {
    name: "a property of an event's data is gone",
    api: "webhooks",
    change: (document) => delete schema(document, "License").properties.familySlug,
    noticed: "License.familySlug is gone from responses",
  },
]

/** What a request may no longer do. */
const requests: ReadonlyArray<Mutant> = [
  {
    name: "a parameter is gone",
    api: "core",
    change: ({ paths }) => without(paths[CUSTOMERS].get.parameters, parameter(paths[CUSTOMERS].get, "domain")),
    noticed: `get ${CUSTOMERS} query:domain is gone`,
  },
  {
    name: "a parameter is required",
    api: "core",
    change: ({ paths }) => (parameter(paths[CUSTOMERS].get, "domain").required = true),
    noticed: `get ${CUSTOMERS} query:domain is required`,
  },
  {
    name: "a new parameter is required",
    api: "core",
    change: ({ paths }) =>
      paths[CUSTOMERS].get.parameters.push({ name: "region", in: "query", required: true, schema: {} }),
    noticed: `get ${CUSTOMERS} query:region is required`,
  },
  {
    name: "a parameter accepts less",
    api: "core",
    change: ({ paths }) => (parameter(paths[CUSTOMERS].get, "limit").schema.maximum = 100),
    noticed: `get ${CUSTOMERS} query:limit accepts less: maximum is 100`,
  },
  {
    name: "a request property is gone",
    api: "core",
    change: (document) => delete schema(document, "CreateCustomer").properties.domain,
    noticed: "CreateCustomer.domain is gone from requests",
  },
  {
    name: "a request property is required",
    api: "core",
    change: (document) => schema(document, "CreateCustomer").required.push("slug"),
    noticed: "CreateCustomer.slug is required in requests",
  },
  {
    name: "a request property no longer accepts null",
    api: "core",
    change: (document) => property(document, "CreateCustomer", "domain").anyOf.pop(),
    noticed: "CreateCustomer.domain no longer accepts null",
  },
  {
    name: "a request property no longer accepts a type",
    api: "core",
    change: (document) => (property(document, "CreateCustomer", "name").type = "integer"),
    noticed: "CreateCustomer.name no longer accepts string",
  },
  {
    name: "a request property has a pattern",
    api: "core",
    change: (document) => (property(document, "CreateCustomer", "name").pattern = "^[A-Z]"),
    noticed: "CreateCustomer.name accepts less: pattern is ^[A-Z]",
  },
  {
    name: "a request property must be longer",
    api: "core",
    change: (document) => (property(document, "CreateCustomer", "slug").minLength = 3),
    noticed: "CreateCustomer.slug accepts less: minLength is 3",
  },
  {
    name: "a value of an enum is gone from requests",
    api: "core",
    change: (document) => without(schema(document, "LicenseType").enum, "TRIAL"),
    noticed: "LicenseType no longer accepts TRIAL",
  },
  {
    name: "a choice of a request is gone",
    api: "core",
    change: (document) => property(document, "ReportUsage", "value").anyOf.shift(),
    noticed: "ReportUsage.value no longer accepts number",
  },
  {
    name: "a request media type is gone",
    api: "core",
    change: ({ paths }) =>
      delete paths["/api/usage-events"].post.requestBody.content["application/cloudevents-batch+json"],
    noticed: "post /api/usage-events body application/cloudevents-batch+json is gone",
  },
  {
    name: "a body is required",
    api: "core",
    change: ({ paths }) => {
      for (const [path, { post }] of Object.entries<Schema>(paths)) {
        if (path.endsWith("/offline-bundles")) post.requestBody.required = true
      }
    },
    noticed: "post /api/instances/{instanceSlug}/offline-bundles body is required",
  },
  {
    name: "an operation needs another scope",
    api: "core",
    change: ({ paths }) => (paths[CUSTOMERS].get.security = [{ organizationToken: ["write:customers"] }]),
    noticed: `get ${CUSTOMERS} needs organizationToken write:customers`,
  },
  {
    name: "an operation has another name in generated clients",
    api: "core",
    change: ({ paths }) => (paths[CUSTOMERS].get.operationId = "findCustomers"),
    noticed: `get ${CUSTOMERS} is findCustomers in generated clients`,
  },
]

export const mutants: ReadonlyArray<Mutant> = [...responses, ...requests]
