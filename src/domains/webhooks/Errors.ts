/** Problems of webhook endpoints and their deliveries. */
import { Problem } from "../../kernel/contract/Problem.ts"

export class WebhookEndpointNotFound extends Problem<WebhookEndpointNotFound>()(
  "WebhookEndpoint.NotFound",
  404,
  "Webhook endpoint not found",
) {}

export class CreateWebhookEndpointLimitReached extends Problem<CreateWebhookEndpointLimitReached>()(
  "CreateWebhookEndpoint.LimitReached",
  409,
  "The organization has as many webhook endpoints as it may have",
) {}

export class PauseWebhookEndpointDisabled extends Problem<PauseWebhookEndpointDisabled>()(
  "PauseWebhookEndpoint.Disabled",
  409,
  "The webhook endpoint is disabled",
) {}

export class WebhookDeliveryNotFound extends Problem<WebhookDeliveryNotFound>()(
  "WebhookDelivery.NotFound",
  404,
  "Webhook delivery not found",
) {}

export class RetryDeliveryNotFailed extends Problem<RetryDeliveryNotFailed>()(
  "RetryDelivery.NotFailed",
  409,
  "The delivery has not failed",
) {}

export class RetryDeliveryEndpointNotActive extends Problem<RetryDeliveryEndpointNotActive>()(
  "RetryDelivery.EndpointNotActive",
  409,
  "The delivery's endpoint is disabled or deleted",
) {}

export class RecoverDeliveriesEndpointNotActive extends Problem<RecoverDeliveriesEndpointNotActive>()(
  "RecoverDeliveries.EndpointNotActive",
  409,
  "The endpoint is disabled",
) {}
