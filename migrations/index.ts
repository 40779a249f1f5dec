import { InitialSchema1795000000000 } from './1795000000000-initial-schema.js';
import { RequestedSyncs1795200000000 } from './1795200000000-requested-syncs.js';
import { FetchState1795300000000 } from './1795300000000-fetch-state.js';
import { RareVersions1795500000000 } from './1795500000000-rare-versions.js';
import { SourcePartitions1795600000000 } from './1795600000000-source-partitions.js';
import { DropRegistryRevision1796000000000 } from './1796000000000-drop-registry-revision.js';
import { PartitionRevisions1796100000000 } from './1796100000000-partition-revisions.js';
import { AllowedShrinking1796200000000 } from './1796200000000-allowed-shrinking.js';
import { VersionKeys1796300000000 } from './1796300000000-version-keys.js';
import { ChangedClaims1796400000000 } from './1796400000000-changed-claims.js';
import { ChangedClaimsIndex1796400000001 } from './1796400000001-changed-claims-index.js';
import { Plugins1796500000000 } from './1796500000000-plugins.js';
import { ValidEntryTypes1796500000001 } from './1796500000001-valid-entry-types.js';
import { GivenClaims1796600000000 } from './1796600000000-given-claims.js';
import { SearchTexts1796800000000 } from './1796800000000-search-texts.js';
import { DropVersionSearch1796800000001 } from './1796800000001-drop-version-search.js';
import { AuditEvents1797000000000 } from './1797000000000-audit-events.js';
import { OpenRegistries1797200000000 } from './1797200000000-open-registries.js';
import { AuditFilters1797350000000 } from './1797350000000-audit-filters.js';
import { AppliedAuthorization1797500000000 } from './1797500000000-applied-authorization.js';
import { SearchKeysOfPartitions1797700000000 } from './1797700000000-search-keys-of-partitions.js';
import { AuditWalks1797820000000 } from './1797820000000-audit-walks.js';
import { ActorNames1797830000000 } from './1797830000000-actor-names.js';
import { ActorNamesIndex1797830000001 } from './1797830000001-actor-names-index.js';
import { AppliedOAuth1797840000000 } from './1797840000000-applied-oauth.js';
import { Admission1797900000000 } from './1797900000000-admission.js';
import { SourceAdmission1797900000001 } from './1797900000001-source-admission.js';
import { Webhooks1797910000000 } from './1797910000000-webhooks.js';
import { WebhooksIndex1797910000001 } from './1797910000001-webhooks-index.js';
import { FollowedViews1797911000000 } from './1797911000000-followed-views.js';
import { BlockedItems1797990000000 } from './1797990000000-blocked-items.js';
import { AdmissionQuestions1797996000000 } from './1797996000000-admission-questions.js';
import { Content1798000000000 } from './1798000000000-content.js';
import { Marketplaces1798010000000 } from './1798010000000-marketplaces.js';
import { EntrySummaries1798100000000 } from './1798100000000-entry-summaries.js';
import { EntrySummaryFill1798150000000 } from './1798150000000-entry-summary-fill.js';
import { SummaryChanges1798200000000 } from './1798200000000-summary-changes.js';
import { ContentFetches1798300000000 } from './1798300000000-content-fetches.js';
import { SourceOwners1798310000000 } from './1798310000000-source-owners.js';
import { DropSharedNames1798320000000 } from './1798320000000-drop-shared-names.js';
import { UnusedSummaryColumns1798320000001 } from './1798320000001-unused-summary-columns.js';
import { TextChanges1798320000002 } from './1798320000002-text-changes.js';
import { GenericTriggerPlans1798320000003 } from './1798320000003-generic-trigger-plans.js';
import { PublishedSearchKeys1798320000004 } from './1798320000004-published-search-keys.js';
import { LaterSearchKeys1798320000005 } from './1798320000005-later-search-keys.js';
import { PartitionByClaims1798330000000 } from './1798330000000-partition-by-claims.js';
import { BlockChanges1798330000001 } from './1798330000001-block-changes.js';
import { AuditScopes1798332020000 } from './1798332020000-audit-scopes.js';
import { EntryRevisions1798340052000 } from './1798340052000-entry-revisions.js';
import { EntryRevisionIndex1798340052001 } from './1798340052001-entry-revision-index.js';

/**
 * Every migration, oldest first. A released one is never edited: a change is a new file. One whose `down`
 * loses data names that data in `loses`.
 *
 * Each runs in one transaction, which starts again if it cannot get a lock soon. After a statement that locks readers
 * out of an existing table (`alter table`, `truncate`, `drop`) or writers (`lock table`, `create trigger`, `create index`),
 * only instant ones may follow: long work such as an index or a validation comes first or is a separate migration, and
 * many rows are changed in batches (`BatchedMigration` in src/database/migrate.ts).
 */
export const migrations = [
  InitialSchema1795000000000,
  RequestedSyncs1795200000000,
  FetchState1795300000000,
  RareVersions1795500000000,
  SourcePartitions1795600000000,
  DropRegistryRevision1796000000000,
  PartitionRevisions1796100000000,
  AllowedShrinking1796200000000,
  VersionKeys1796300000000,
  ChangedClaims1796400000000,
  ChangedClaimsIndex1796400000001,
  Plugins1796500000000,
  ValidEntryTypes1796500000001,
  GivenClaims1796600000000,
  SearchTexts1796800000000,
  DropVersionSearch1796800000001,
  AuditEvents1797000000000,
  OpenRegistries1797200000000,
  AuditFilters1797350000000,
  AppliedAuthorization1797500000000,
  SearchKeysOfPartitions1797700000000,
  AuditWalks1797820000000,
  ActorNames1797830000000,
  ActorNamesIndex1797830000001,
  AppliedOAuth1797840000000,
  Admission1797900000000,
  SourceAdmission1797900000001,
  Webhooks1797910000000,
  WebhooksIndex1797910000001,
  FollowedViews1797911000000,
  BlockedItems1797990000000,
  AdmissionQuestions1797996000000,
  Content1798000000000,
  Marketplaces1798010000000,
  EntrySummaries1798100000000,
  EntrySummaryFill1798150000000,
  SummaryChanges1798200000000,
  ContentFetches1798300000000,
  SourceOwners1798310000000,
  DropSharedNames1798320000000,
  UnusedSummaryColumns1798320000001,
  TextChanges1798320000002,
  GenericTriggerPlans1798320000003,
  PublishedSearchKeys1798320000004,
  LaterSearchKeys1798320000005,
  PartitionByClaims1798330000000,
  BlockChanges1798330000001,
  AuditScopes1798332020000,
  EntryRevisions1798340052000,
  EntryRevisionIndex1798340052001,
];
