import { Webhook } from 'standardwebhooks';

/**
 * Returns the headers of Standard Webhooks for a body.
 *
 * @param secrets `whsec_` and base64; one signature for each, while a secret is rotated.
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
