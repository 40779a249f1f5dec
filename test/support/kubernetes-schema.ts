import * as client from '@kubernetes/client-node';

interface Attribute {
  readonly baseName: string;
  readonly type: string;
}
interface Model {
  getAttributeTypeMap(): Attribute[];
}
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
}

const models = client as unknown as Record<string, Model | undefined>;
const SCALARS: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  IntOrString: (value) => typeof value === 'string' || typeof value === 'number',
  any: () => true,
};

/**
 * Returns the members that an API server does not know or types differently, according to the Kubernetes client's
 * generated models; null for an API group without models.
 */
export function problemsOf(object: KubernetesObject): string[] | null {
  const version = object.apiVersion.split('/').at(-1) ?? '';
  const model = `${version.charAt(0).toUpperCase()}${version.slice(1)}${object.kind}`;
  return models[model] ? problemsAt(object, model, object.kind) : null;
}

function problemsAt(value: unknown, type: string, path: string): string[] {
  const [, element = ''] = /^Array<(.+)>$/.exec(type) ?? [];
  if (element)
    return Array.isArray(value)
      ? value.flatMap((one, position) => problemsAt(one, element, `${path}[${position}]`))
      : [`${path} is not a list`];
  const scalar = SCALARS[type];
  if (scalar) return scalar(value) ? [] : [`${path} is not a ${type}`];
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [`${path} is not an object`];
  const [, member = ''] = /^\{ \[key: string\]: (.+); \}$/.exec(type) ?? [];
  const attributes = models[type]?.getAttributeTypeMap() ?? [];
  return Object.entries(value).flatMap(([key, below]) => {
    const kind = member || attributes.find(({ baseName }) => baseName === key)?.type;
    return kind ? problemsAt(below, kind, `${path}.${key}`) : [`${path}.${key} is unknown`];
  });
}
