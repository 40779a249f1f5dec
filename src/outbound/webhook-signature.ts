import { Webhook } from 'standardwebhooks';

/**
 * Returns the Standard Webhooks headers for a body.
 *
 * @param secrets each `whsec_` and base64. While a secret is rotated there are two, and each gives a signature.
 */
export function signatureHeaders(
  secrets: readonly string[],
  id: string,
  at: Date,
  body: string,
): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
  };
}
