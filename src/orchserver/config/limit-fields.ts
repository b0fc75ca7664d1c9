import { defaultLimits } from '../../apiserver/context/limits.ts'
import type { Field, FieldsOf, PathsUnder } from '../../settings/field.ts'
import { duration, integer } from '../../settings/scalar-types.ts'
import type { AuditConfiguration, OrchServerConfiguration } from './configuration.ts'
import { optionalText } from './field-types.ts'

/** How the file of the audit log is rotated. */
export type LogRotation = Pick<
  AuditConfiguration,
  'logMaxMegabytes' | 'logMaxBackups' | 'logMaxAgeDays'
>

/** Uses at most 1.1 GB of disk. */
export const DEFAULT_ROTATION: LogRotation = {
  logMaxMegabytes: 100,
  logMaxBackups: 10,
  logMaxAgeDays: 0,
}

/** Whether the rotation differs from the default. */
export function isRotationSet(rotation: LogRotation): boolean {
  const names = ['logMaxMegabytes', 'logMaxBackups', 'logMaxAgeDays'] as const
  return names.some((name) => rotation[name] !== DEFAULT_ROTATION[name])
}

/** Which requests are recorded, and where. */
export const AUDIT_FIELDS: FieldsOf<
  OrchServerConfiguration,
  PathsUnder<OrchServerConfiguration, 'audit'>
> = {
  'audit.policyFile': optionalText(
    'audit-policy-file',
    'Policy that says which requests are recorded, and how much of each. Empty: none is recorded.',
  ),
  'audit.logPath': optionalText(
    'audit-log-path',
    'File that audit events are written to, one JSON object per line. -: standard output, where the log is written, too.',
  ),
  'audit.logMaxMegabytes': {
    flag: 'audit-log-maxsize',
    type: integer(1, 1_048_576),
    fallback: DEFAULT_ROTATION.logMaxMegabytes,
    doc: 'Size in MiB at which that file is rotated: it is renamed, and a new one begins.',
  },
  'audit.logMaxBackups': {
    flag: 'audit-log-maxbackup',
    type: integer(0, 1_000_000),
    fallback: DEFAULT_ROTATION.logMaxBackups,
    doc: 'How many rotated files are kept, the newest ones. 0: all.',
  },
  'audit.logMaxAgeDays': {
    flag: 'audit-log-maxage',
    type: integer(0, 36_500),
    fallback: DEFAULT_ROTATION.logMaxAgeDays,
    doc: 'Days for which rotated files are kept. 0: for ever.',
  },
  'audit.webhookConfigFile': optionalText(
    'audit-webhook-config-file',
    'Kubeconfig of a server that audit events are posted to, in batches; its URL is the whole address. No request waits for it.',
  ),
}

const MAX_BYTES = 2 ** 30

/** Bounds on what one client can make the server do. */
export const LIMIT_FIELDS: FieldsOf<
  OrchServerConfiguration,
  PathsUnder<OrchServerConfiguration, 'limits'>
> = {
  'limits.requestBytes': bytes(
    'max-request-bytes',
    defaultLimits.requestBytes,
    'Bytes of the body of a request.',
  ),
  'limits.headerBytes': bytes(
    'max-header-bytes',
    defaultLimits.headerBytes,
    'Bytes of the headers of a request.',
  ),
  'limits.jsonDepth': count(
    'max-json-depth',
    defaultLimits.jsonDepth,
    'How deep JSON may be nested.',
  ),
  'limits.patchOperations': count(
    'max-patch-operations',
    defaultLimits.patchOperations,
    'Operations of a JSON patch.',
  ),
  'limits.patchCopyBytes': bytes(
    'max-patch-copy-bytes',
    defaultLimits.patchCopyBytes,
    'Bytes that the copy operations of a JSON patch may add.',
  ),
  'limits.requestsInFlight': count(
    'max-requests-inflight',
    defaultLimits.requestsInFlight,
    'Reads that are served at one time; a quarter of them is reserved for the cluster itself. Further requests wait. Watches count until they have begun.',
  ),
  'limits.mutatingRequestsInFlight': count(
    'max-mutating-requests-inflight',
    defaultLimits.mutatingRequestsInFlight,
    'Writes that are served at one time; a quarter of them is reserved for the cluster itself. Further requests wait.',
  ),
  'limits.watches': count('max-watches', defaultLimits.watches, 'Watches at one time.'),
  'limits.streams': count(
    'max-streams',
    defaultLimits.streams,
    'Followed logs, commands in Pods and forwarded ports at one time.',
  ),
  'limits.idleStreamTimeout': time(
    'idle-stream-timeout',
    defaultLimits.idleStreamTimeout,
    'A connection to a Pod that carries nothing for this long is ended.',
  ),
  'limits.watchWindowChanges': count(
    'watch-window-changes',
    defaultLimits.watchWindowChanges,
    'Changes of each resource that are kept for watches that start at an earlier version or are behind.',
  ),
  'limits.watchWindowBytes': bytes(
    'watch-window-bytes',
    defaultLimits.watchWindowBytes,
    'Bytes of each resource that these changes may hold.',
  ),
  'limits.watchDuration': time(
    'max-watch-duration',
    defaultLimits.watchDuration,
    'The longest duration of a watch, and the default.',
  ),
  'limits.bookmarkPeriod': time(
    'bookmark-period',
    defaultLimits.bookmarkPeriod,
    'Time between two bookmarks of a watch.',
  ),
  'limits.stalledClientTimeout': time(
    'stalled-client-timeout',
    defaultLimits.stalledClientTimeout,
    'A client that reads nothing of its answer for this long is disconnected.',
  ),
  'limits.requestTimeout': time(
    'request-timeout',
    defaultLimits.requestTimeout,
    'Time in which the whole request must arrive, and how long a write may wait for its turn.',
  ),
  'limits.futureRevisionTimeout': time(
    'future-revision-timeout',
    defaultLimits.futureRevisionTimeout,
    'How long a read waits for a revision that this server has not seen yet.',
  ),
}

function bytes(flag: string, fallback: number, doc: string): Field<number> {
  return { flag, type: integer(1024, MAX_BYTES), fallback, doc }
}

function count(flag: string, fallback: number, doc: string): Field<number> {
  return { flag, type: integer(1, 1_000_000), fallback, doc }
}

function time(flag: string, fallback: number, doc: string): Field<number> {
  return { flag, type: duration(1000), fallback, doc }
}
