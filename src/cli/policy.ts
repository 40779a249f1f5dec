import { randomUUID } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Type } from 'class-transformer';
import { ArrayNotEmpty, ArrayUnique, IsArray, IsIn, ValidateNested } from 'class-validator';
import type { Request, Response } from 'express';
import { ENTITIES } from '../app/entities.js';
import type { Claims } from '../claims/claims.js';
import { syntaxOf } from '../client-config/client-config.js';
import { type ClientName, CLIENTS } from '../client-config/clients.js';
import { FILE_FORMS, type FileForm, fileFormsOf } from '../client-config/marketplace-settings.js';
import { configurationModule } from '../config/slices.js';
import type { Config } from '../config/config.js';
import { makeFolder } from '../database/embedded/postgres-process.js';
import { parseYamlValue } from '../config/yaml.js';
import { DatabaseModule } from '../database/database.module.js';
import { migrationStatus } from '../database/migrate.js';
import { type OpenDatabase, openDatabase } from '../database/open-database.js';
import { ApiError } from '../http/errors.js';
import { MarketplaceModule } from '../marketplace/marketplace.module.js';
import { MarketplaceService } from '../marketplace/marketplace.service.js';
import { StreamedJson } from '../http/json-answers.js';
import { Client } from '../http/request-context.js';
import { Metrics } from '../telemetry/metrics.js';
import { TelemetryModule } from '../telemetry/telemetry.module.js';
import { checkShape } from '../validation/class-validation.js';
import { IsClaims, IsDnsLabel, isDnsLabel, IsText } from '../validation/decorators.js';
import { formatPath } from '../validation/value-checks.js';
import { RegistryViews } from '../visibility/registry-views.js';
import { VisibilityModule } from '../visibility/visibility.module.js';
import { configuration } from './check.js';

export interface PolicyOptions {
  readonly config: string;
  readonly teams: string;
  readonly out: string;
  readonly check?: boolean;
}

const DRIFT = 1;
const BAD_USE = 2;

/** A team: callers with these mapped claims who read this registry. */
class Team {
  @IsDnsLabel() readonly name: string;
  @IsText() readonly registry: string;
  @IsClaims() readonly claims: Claims;
  @IsArray()
  @ArrayNotEmpty()
  @IsIn(CLIENTS, { each: true })
  @ArrayUnique()
  readonly clients: readonly ClientName[];
  @IsArray()
  @ArrayNotEmpty()
  @IsIn(FILE_FORMS, { each: true })
  @ArrayUnique()
  readonly forms: readonly FileForm[];
}

class TeamsFile {
  @IsArray() @ValidateNested({ each: true }) @Type(() => Team) readonly teams: readonly Team[];
}

/** A reason not to write anything, with the path of the invalid value. */
class BadUse extends Error {
  override readonly name = 'BadUse';
}

/**
 * Writes the files of every team below `out` (reference/client-config), from the catalog in the database. Neither syncs nor
 * migrates. Returns exit code 0, 1 for differences with `check`, or 2 with the reason on standard error.
 */
export async function policy({
  config: file,
  teams: teamsFile,
  out,
  check = false,
}: PolicyOptions): Promise<number> {
  const loaded = configuration(file, {});
  if (!loaded) return BAD_USE;
  let database: OpenDatabase | undefined;
  try {
    const teams = readTeams(teamsFile);
    const { database: connection, dataDirectory } = loaded.config;
    database = await openDatabase({ connection, dataDirectory, onlyReads: true }, ENTITIES, (message) =>
      process.stderr.write(`${message}\n`),
    );
    const wanted = await filesOf(loaded.config, database, teams, teamsFile);
    const changes = compare(out, wanted);
    for (const { path, action } of changes)
      process.stdout.write(`${check ? 'would ' : ''}${action} ${path}\n`);
    if (check) return changes.length > 0 ? DRIFT : 0;
    apply(out, wanted, changes);
    return 0;
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    const reason = error instanceof Error ? error.message : 'failed';
    process.stderr.write(
      `policy: ${path !== undefined && code !== undefined ? `${path}: ${code}` : reason}\n`,
    );
    return BAD_USE;
  } finally {
    await database?.close();
  }
}

/** @throws BadUse with every problem in the file. */
function readTeams(file: string): readonly Team[] {
  const { tree } = parseYamlValue(readFileSync(file, 'utf8'), file);
  const { value, issues } = checkShape(TeamsFile, tree);
  const problems = issues.map(({ path, message }) => `${file}: ${formatPath(path)}: ${message}`);
  if (problems.length === 0)
    for (const [index, { name, clients, forms }] of value.teams.entries()) {
      if (value.teams.findIndex((team) => team.name === name) < index)
        problems.push(`${file}: teams[${index}].name: ${name} appears twice`);
      for (const [position, form] of forms.entries())
        if (!clients.some((client) => fileFormsOf(client).includes(form)))
          problems.push(`${file}: teams[${index}].forms[${position}]: none of its clients supports ${form}`);
    }
  if (problems.length > 0) throw new BadUse(problems.join('\n'));
  return value.teams;
}

/** Every file, by its path below the output folder. */
type Files = ReadonlyMap<string, Buffer>;

/** @throws BadUse if a team cannot enter its registry. */
async function filesOf(
  config: Config,
  database: OpenDatabase,
  teams: readonly Team[],
  teamsFile: string,
): Promise<Files> {
  const pending = (await migrationStatus(database.dataSource)).find(({ state }) => state !== 'applied');
  if (pending)
    throw new BadUse(
      `Migration ${pending.name} is ${pending.state} in the database: use the version that serves it`,
    );
  @Module({
    imports: [
      configurationModule(config),
      TelemetryModule.with(new Metrics()),
      DatabaseModule.with(database),
      MarketplaceModule,
      VisibilityModule,
    ],
  })
  class CatalogOnly {}
  // The application is not initialized, because the hooks would start background work that writes to the database.
  const app = await NestFactory.create(CatalogOnly, { logger: false, abortOnError: false });
  const [views, marketplaces] = [
    app.get(RegistryViews, { strict: false }),
    app.get(MarketplaceService, { strict: false }),
  ];
  const files = new Map<string, Buffer>();
  for (const [index, { name, registry, claims, clients, forms }] of teams.entries()) {
    const caller = { subject: null, issuer: null, claims, identified: true };
    for (const client of clients)
      for (const form of forms.filter((one) => fileFormsOf(client).includes(one))) {
        const refused = (member: string) => (error: unknown) => {
          if (!(error instanceof ApiError)) throw error;
          const path = error.code === 'registry_forbidden' ? 'claims' : member;
          throw new BadUse(`${teamsFile}: teams[${index}].${path}: ${registry}: ${error.message}`);
        };
        const access = await views.enter(caller, nobody(), registry).catch(refused('registry'));
        const answer = await marketplaces.clientFile(access, { client, form }).catch(refused('forms'));
        files.set(join(name, fileName(client, form)), await bytesOf(answer));
      }
  }
  return files;
}

/** A client that no response is sent to. */
function nobody(): Client {
  const request = new IncomingMessage(new Socket());
  return new Client(request as Request, new ServerResponse(request) as Response);
}

async function bytesOf(answer: StreamedJson | { readonly bytes: Buffer }): Promise<Buffer> {
  return answer instanceof StreamedJson ? buffer(answer.chunks) : answer.bytes;
}

function fileName(client: ClientName, form: FileForm): string {
  return `${client}.${form}.${syntaxOf(client).extension}`;
}

/** All file names that a team's folder can contain. */
const FILE_NAMES: ReadonlySet<string> = new Set(
  CLIENTS.flatMap((client) => fileFormsOf(client).map((form) => fileName(client, form))),
);

interface Change {
  /** The path below the output folder. */
  readonly path: string;
  readonly action: 'write' | 'remove';
}

/** Returns the differences, ordered by path. Ignores files that this command does not write. */
function compare(out: string, wanted: Files): Change[] {
  const present = filesBelow(out);
  const changes = [
    ...[...wanted].flatMap(([path, bytes]): Change[] =>
      present.has(path) && readFileSync(join(out, path)).equals(bytes) ? [] : [{ path, action: 'write' }],
    ),
    ...[...present].flatMap((path): Change[] => (wanted.has(path) ? [] : [{ path, action: 'remove' }])),
  ];
  return changes.sort((one, other) => (one.path < other.path ? -1 : 1));
}

/**
 * Returns the files that this command may have written: regular files with known names, in folders with the names of
 * teams.
 */
function filesBelow(out: string): ReadonlySet<string> {
  const folders = entriesOf(out).filter((entry) => entry.isDirectory() && isDnsLabel(entry.name));
  return new Set(
    folders.flatMap(({ name }) =>
      entriesOf(join(out, name))
        .filter((entry) => entry.isFile() && FILE_NAMES.has(entry.name))
        .map((entry) => join(name, entry.name)),
    ),
  );
}

function entriesOf(folder: string) {
  return lstatSync(folder, { throwIfNoEntry: false }) === undefined
    ? []
    : readdirSync(folder, { withFileTypes: true });
}

// Replaces each file atomically, because it may be read at any time.
function apply(out: string, wanted: Files, changes: readonly Change[]): void {
  for (const { path, action } of changes) {
    const target = join(out, path);
    const folder = join(target, '..');
    if (action === 'remove') {
      rmSync(target);
      if (readdirSync(folder).length === 0) rmdirSync(folder);
      continue;
    }
    makeFolder(folder);
    // A link could point outside the output folder.
    if (!lstatSync(folder).isDirectory()) throw new BadUse(`${folder} is not a folder`);
    const temporary = `${target}.${randomUUID()}`;
    writeFileSync(temporary, wanted.get(path) ?? '');
    renameSync(temporary, target);
  }
}
