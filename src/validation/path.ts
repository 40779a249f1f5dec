/** Where a value stands in the configuration: keys and positions. */
export type Path = readonly (string | number)[];

/** `auth.oauth.providers[0].issuerUrl`; a key that is no plain word is quoted: `claims["a b"]`. */
export function formatPath(path: Path): string {
  return path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`;
      if (!/^-{0,2}[A-Za-z_][\w-]*$/.test(step)) return `[${JSON.stringify(step)}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join('');
}
