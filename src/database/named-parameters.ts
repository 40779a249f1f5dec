/** Values by the names that a statement has for them. */
export type NamedValues = Readonly<Record<string, unknown>>;

/** A statement as PostgreSQL takes it. */
export interface BoundStatement {
  readonly text: string;
  readonly values: unknown[];
}

interface NumberedText {
  readonly text: string;
  /** The names of the parameters, in the order of their numbers. */
  readonly names: readonly string[];
}

// As many as there are statements and combinations of conditions: nothing of a request is ever in a text.
const numberedTexts = new Map<string, NumberedText>();

/**
 * Numbers the parameters of a statement. They are written `$name`, which reads better, and are sent as `$1`, `$2` … in the order
 * in which they first appear, so that the numbers depend on the text alone. Values that it does not name are left out.
 *
 * @param text made without anything that comes from a request: it is cached for good.
 * @throws Error for a name without a value: a mistake in the statement.
 */
export function bind(text: string, named: NamedValues): BoundStatement {
  let numbered = numberedTexts.get(text);
  if (!numbered) {
    numbered = numberNames(text);
    numberedTexts.set(text, numbered);
  }
  const values = numbered.names.map((name) => {
    if (!Object.hasOwn(named, name)) throw new Error(`The statement has no value for $${name}`);
    return named[name];
  });
  return { text: numbered.text, values };
}

function numberNames(text: string): NumberedText {
  const numbers = new Map<string, number>();
  const numbered = text.replaceAll(/\$([a-zA-Z]+)/g, (_, name: string) => {
    const number = numbers.get(name) ?? numbers.size + 1;
    numbers.set(name, number);
    return `$${number}`;
  });
  return { text: numbered, names: [...numbers.keys()] };
}
