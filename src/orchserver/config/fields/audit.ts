import type { FieldsOf, PathsUnder } from '../../../settings/field.ts'
import { integer, text } from '../../../settings/scalar-types.ts'
import type { OrchServerConfiguration } from '../configuration.ts'
import { DEFAULT_ROTATION } from '../log-rotation.ts'

/** Which requests are recorded, and where. */
export const AUDIT_FIELDS: FieldsOf<
  OrchServerConfiguration,
  PathsUnder<OrchServerConfiguration, 'audit'>
> = {
  'audit.policyFile': {
    flag: 'audit-policy-file',
    type: text(),
    fallback: '',
    doc: 'Policy that says which requests are recorded, and how much of each. Empty: none is recorded.',
    reload: 'restart',
  },
  'audit.logPath': {
    flag: 'audit-log-path',
    type: text(),
    fallback: '',
    doc: 'File that audit events are written to, one JSON object a line; - is standard output, between the records of the log.',
    reload: 'restart',
  },
  'audit.logMaxMegabytes': {
    flag: 'audit-log-maxsize',
    type: integer(1, 1_048_576),
    fallback: DEFAULT_ROTATION.logMaxMegabytes,
    doc: 'MiB at which that file is put aside and a new one begins.',
    reload: 'restart',
  },
  'audit.logMaxBackups': {
    flag: 'audit-log-maxbackup',
    type: integer(0, 1_000_000),
    fallback: DEFAULT_ROTATION.logMaxBackups,
    doc: 'Files that were put aside and are kept, the newest ones. 0: all.',
    reload: 'restart',
  },
  'audit.logMaxAgeDays': {
    flag: 'audit-log-maxage',
    type: integer(0, 36_500),
    fallback: DEFAULT_ROTATION.logMaxAgeDays,
    doc: 'Days for which files that were put aside are kept. 0: for ever.',
    reload: 'restart',
  },
  'audit.webhookConfigFile': {
    flag: 'audit-webhook-config-file',
    type: text(),
    fallback: '',
    doc: 'Kubeconfig of a server that audit events are posted to, in batches; its URL is the whole address. No request waits for it.',
    reload: 'restart',
  },
}
