import { readdirSync } from 'node:fs';
import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { RouteAccessOf } from '../../dist/auth/route.js';

type Controller = (new (...values: never[]) => object) & { prototype: Record<string, object> };

/** A controller method that handles requests. */
export interface Handler {
  /** `Controller.method`. */
  readonly name: string;
  /** `GET /path/{parameter}`, one for each path of its controller. */
  readonly routes: readonly string[];
  readonly access: unknown;
  /** Undefined when the OpenAPI document omits it. */
  readonly operation: { readonly operationId?: string; readonly summary?: string } | undefined;
  readonly parameters: readonly RouteParameter[];
  /** The metadata that `@Route()` sets under this key. */
  says(decorator: { readonly KEY: string }): unknown;
}

interface RouteParameter {
  readonly isBody: boolean;
  /** The class it is declared with; `Object` for `unknown` and interfaces. */
  readonly type: unknown;
  /** The source of the function that reads it, for our own decorators. */
  readonly reads: string;
}

const DIST = new URL('../../dist/', import.meta.url);

/** All handlers. A controller missing here would be a route that no test checks. */
export async function allHandlers(): Promise<Handler[]> {
  const files = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.controller.js'),
  );
  const modules = await Promise.all(
    files.map((file) => import(new URL(file, DIST).href) as Promise<Record<string, unknown>>),
  );
  return modules.flatMap((exported) =>
    Object.values(exported).flat().filter(isController).flatMap(handlersOf),
  );
}

function isController(value: unknown): value is Controller {
  return typeof value === 'function' && value.name.endsWith('Controller');
}

function handlersOf(controller: Controller): Handler[] {
  const bases = [Reflect.getMetadata(PATH_METADATA, controller) as string | string[]].flat();
  const { prototype } = controller;
  return Object.getOwnPropertyNames(prototype).flatMap((name): Handler[] => {
    const handler = prototype[name] as object;
    const path = Reflect.getMetadata(PATH_METADATA, handler) as string | undefined;
    if (name === 'constructor' || path === undefined) return [];
    const method = RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as number] ?? '';
    const methods = method === 'ALL' ? ['GET', 'PUT', 'PATCH', 'DELETE'] : [method];
    const says = ({ KEY }: { readonly KEY: string }): unknown => Reflect.getMetadata(KEY, handler);
    const isExcluded = Reflect.hasMetadata('swagger/apiExcludeEndpoint', handler);
    return [
      {
        name: `${controller.name}.${name}`,
        routes: bases.flatMap((base) => methods.map((one) => `${one} ${templateOf(`/${base}/${path}`)}`)),
        access: says(RouteAccessOf),
        operation: isExcluded
          ? undefined
          : (Reflect.getMetadata('swagger/apiOperation', handler) as Handler['operation']),
        parameters: parametersOf(controller, name),
        says,
      },
    ];
  });
}

function templateOf(path: string): string {
  return path
    .replaceAll(/\/+/g, '/')
    .replace(/(.)\/$/, '$1')
    .replaceAll(/[:*](\w+)/g, '{$1}');
}

function parametersOf(controller: Controller, method: string): RouteParameter[] {
  const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) ?? {}) as Record<
    string,
    { readonly index: number; readonly factory?: unknown }
  >;
  const types = Reflect.getMetadata('design:paramtypes', controller.prototype, method) as unknown[];
  return Object.entries(parameters).map(([key, { factory, index }]) => ({
    isBody: key.startsWith(`${RouteParamtypes.BODY}:`),
    type: types[index],
    reads: factory === undefined ? '' : String(factory),
  }));
}
