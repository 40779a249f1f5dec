/** contract §10: where those who are refused can ask why. */
const WHERE_TO_ASK = 'POST /v1/access/explain says which step has refused this, and what may be missing';

/** The `details` of an error answer: of every 401 and 403 they say, at their end, where to ask why. */
export function refusalDetails(status: number, details: readonly string[]): readonly string[] {
  return status === 401 || status === 403 ? [...details, WHERE_TO_ASK] : details;
}
