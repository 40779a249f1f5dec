import { Injectable } from '@nestjs/common';
import { formatDuration } from '../config/duration.js';
import { ApiError } from '../http/errors.js';
import { type SourceRow, SourcesQueries } from './sources.queries.js';
import type { SourceAnswer, SourceList } from './sources.responses.js';

@Injectable()
export class SourcesService {
  constructor(private readonly queries: SourcesQueries) {}

  async list(): Promise<SourceList> {
    const rows = await this.queries.find();
    return { sources: rows.map(describe), metadata: { count: rows.length } };
  }

  async get(name: string): Promise<SourceAnswer> {
    // PostgreSQL takes no NUL in text: such a name exists nowhere.
    const [row] = name.includes('\0') ? [] : await this.queries.find(name);
    if (!row) throw new ApiError('source_not_found');
    return describe(row);
  }
}

function describe(row: SourceRow): SourceAnswer {
  return {
    name: row.name,
    kind: row.kind,
    [row.kind]: row.settings,
    ...(row.intervalMs === null ? {} : { syncPolicy: { interval: formatDuration(row.intervalMs) } }),
    ...(row.filter ? { filter: row.filter } : {}),
    claims: row.claims,
    origin: row.origin,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    ...(row.intervalMs === null ? {} : { sync: describeSync(row) }),
  };
}

function describeSync(row: SourceRow): SourceAnswer['sync'] {
  return {
    status: row.status,
    lastAttemptAt: row.lastAttemptAt?.toISOString() ?? null,
    lastSuccessAt: row.lastSuccessAt?.toISOString() ?? null,
    nextRunAt: row.nextRunAt?.toISOString() ?? null,
    attempts: row.attempts,
    ...(row.error === null ? {} : { error: row.error }),
    counts: row.counts,
    skipped: row.skipped,
  };
}
