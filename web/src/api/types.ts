import type { components, paths } from '../../generated/openapi.js';

type Schemas = components['schemas'];

export type AuditEvent = Schemas['AuditEventAnswer'];
export type AuditQuery = NonNullable<paths['/v1/audit']['get']['parameters']['query']>;
export type CallerBody = Schemas['AssumedCallerBody'];
export type Claims = Readonly<Record<string, string | readonly string[]>>;
export type EntryType = Schemas['ListedEntry']['type'];
export type ListedEntry = Schemas['ListedEntry'];
export type ManagedEntry = Schemas['ManagedEntry'];
export type Me = Schemas['MeAnswer'];
export type PageLogin = Schemas['PageLogin'];
export type PageSettings = Schemas['PageSettings'];
export type PluginDocument = Schemas['PluginDocument'];
export type PublishBody = Schemas['PublishBody'];
export type Registry = Schemas['RegistryAnswer'];
export type RegistrySettings = Schemas['RegistrySettings'];
export type Role = Me['roles'][number];
export type ServerDocument = Schemas['ServerDocument'];
export type ServerItem = Schemas['ServerItem'];
export type SkillDocument = Schemas['SkillDocument'];
export type Source = Schemas['SourceAnswer'];
export type SourceSync = Schemas['SourceSyncAnswer'];
export type SourceSettings = Schemas['SourceSettings'];
export type Status = Schemas['StatusBody']['status'];
export type Explanation = Schemas['Explanation'];
export type WhoHasAccess = Schemas['WhoHasAccess'];
