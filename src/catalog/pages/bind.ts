/** Values by the names that a statement has for them. */
export type NamedValues = Readonly<Record<string, unknown>>;

/** A statement as PostgreSQL takes it. */
export interface BoundStatement {
  readonly text: string;
  readonly values: unknown[];
}

/**
 * Numbers the parameters of a statement. They are written `$name`, which reads better, and are sent as `$1`, `$2` … in the order
 * in which they first appear, so that the text depends on nothing but the text. Values that it does not name are left out.
 *
 * @throws Error for a name without a value: a mistake in the statement.
 */
export function bind(text: string, named: NamedValues): BoundStatement {
  const numbers = new Map<string, number>();
  const values: unknown[] = [];
  const numbered = text.replaceAll(/\$([a-zA-Z]+)/g, (_, name: string) => {
    let number = numbers.get(name);
    if (number === undefined) {
      if (!Object.hasOwn(named, name)) throw new Error(`The statement has no value for $${name}`);
      number = values.push(named[name]);
      numbers.set(name, number);
    }
    return `$${number}`;
  });
  return { text: numbered, values };
}
