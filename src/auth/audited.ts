import { Reflector } from '@nestjs/core';
import type { EntryType } from '../documents/entry-types.js';

/** What an audit event says was done or tried (contract §9): stable words, for filters and collectors. */
export const AUDIT_ACTIONS = [
  'source.create',
  'source.update',
  'source.delete',
  'source.sync',
  'source.read',
  'source.list',
  'registry.create',
  'registry.update',
  'registry.delete',
  'registry.read',
  'registry.list',
  'entry.publish',
  'entry.validate',
  'entry.delete',
  'entry.status',
  'entry.claims.update',
  'entry.read',
  'entry.list',
  'catalog.read',
  'access.read',
  'audit.read',
  'auth.refused',
  'request.refused',
  'sync.run',
  'config.apply',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** What a route declares for the audit trail. */
export interface AuditDeclaration {
  readonly action: AuditAction;
  /** Of consumer routes: the type of the entry they name. */
  readonly entryType?: EntryType;
}

export const AuditedAs = Reflector.createDecorator<AuditDeclaration>();

/**
 * The word for what a route does, by which its refusals are recorded (contract §9). A route that changes something records
 * what it did itself, in the transaction of the change: see AuditTrail.
 */
export const Audited = (action: AuditAction, entryType?: EntryType) =>
  AuditedAs({ action, ...(entryType === undefined ? {} : { entryType }) });
