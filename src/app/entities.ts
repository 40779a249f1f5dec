import {
  AdmissionDecision,
  AdmissionItem,
  AdmissionQuestion,
  Block,
  BlockChange,
  KnownName,
} from '../admission/admission.entity.js';
import { AuditEventRow } from '../audit/audit-event.entity.js';
import { AppliedAuthorization } from '../authz/applied-authorization.entity.js';
import { ClaimSet } from '../claim-sets/claim-sets.repository.js';
import {
  ContentBlob,
  ContentChunk,
  ContentFetch,
  ContentFile,
  ContentTree,
  SourceFolder,
  VersionContent,
} from '../content/content.entity.js';
import { Entry, EntryVersion, RemovedEntry, SourcePartition } from '../entry-store/entry.entity.js';
import { Registry, RegistrySource } from '../registries/registry.entity.js';
import { Source, SourceState } from '../sources/source.entity.js';
import { Webhook, WebhookDeliveryRow, WebhookEntry } from '../webhooks/webhook.entity.js';

/** All entities, one per table, each after the entities it refers to. */
export const ENTITIES = [
  ClaimSet,
  Source,
  SourceState,
  Registry,
  RegistrySource,
  Entry,
  EntryVersion,
  RemovedEntry,
  SourcePartition,
  AuditEventRow,
  AppliedAuthorization,
  AdmissionItem,
  AdmissionQuestion,
  AdmissionDecision,
  Block,
  BlockChange,
  KnownName,
  Webhook,
  WebhookDeliveryRow,
  WebhookEntry,
  ContentBlob,
  ContentChunk,
  ContentTree,
  ContentFile,
  VersionContent,
  ContentFetch,
  SourceFolder,
];
