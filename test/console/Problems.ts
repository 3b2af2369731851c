/** Problems of the service, for requests that a page of a test answers itself. */

/** The error of a service that failed. */
export const failed = {
  code: "Service.InternalError",
  status: 500,
  title: "Internal error",
  detail: "The service failed to process the request.",
  errorId: "0198c2b0-5f3e-7c1d-a3b4-9d2f6c1e8a70",
  errors: [],
}

/** The response with a problem. Of another media type, it would not be one of the service. */
export const responseOf = (problem: { readonly code: string; readonly status: number; readonly title: string }) => ({
  status: problem.status,
  contentType: "application/problem+json",
  body: JSON.stringify(problem),
})
