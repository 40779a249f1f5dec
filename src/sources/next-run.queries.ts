/**
 * SQL: a sync that was requested while this run went on comes right after it. Otherwise the next one comes after `$3`
 * milliseconds or up to a tenth later, so that sources that began together do not stay together.
 */
export const NEXT_RUN_AT = `case when requested_at >= last_attempt_at then now()
  else now() + $3 * (1 + random() * 0.1) * interval '1 millisecond' end`;
