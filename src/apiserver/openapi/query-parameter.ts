/** A parameter of a request that stands behind the question mark. */
export interface QueryParameter {
  readonly name: string
  readonly type: 'string' | 'integer' | 'boolean'
  readonly description: string
}

const DRY_RUN = text('dryRun', 'All: check everything and store nothing.')
const MANAGER = text('fieldManager', 'The name under which the client manages fields.')
const VALIDATION = text(
  'fieldValidation',
  'What to do about unknown and duplicate fields: Ignore, Warn or Strict.',
)
/** Of every write. */
export const WRITE: readonly QueryParameter[] = [DRY_RUN, MANAGER, VALIDATION]
export const FORCE: QueryParameter = {
  name: 'force',
  type: 'boolean',
  description: 'Take fields over from others.',
}
export const SELECT: readonly QueryParameter[] = [
  text('labelSelector', 'Only objects with such labels.'),
  text('fieldSelector', 'Only objects with such fields.'),
]
export const LIST: readonly QueryParameter[] = [
  ...SELECT,
  text('resourceVersion', 'Not older than this state.'),
  text('resourceVersionMatch', 'Exact, or NotOlderThan.'),
  text('continue', 'The next page, as the page before says.'),
  { name: 'limit', type: 'integer', description: 'At most this many objects.' },
  { name: 'timeoutSeconds', type: 'integer', description: 'How long a watch lasts.' },
  { name: 'watch', type: 'boolean', description: 'Stream changes instead of listing.' },
  {
    name: 'allowWatchBookmarks',
    type: 'boolean',
    description: 'Also say how far a watch has come.',
  },
  { name: 'sendInitialEvents', type: 'boolean', description: 'Begin a watch with what there is.' },
]
export const DELETE: readonly QueryParameter[] = [
  DRY_RUN,
  { name: 'gracePeriodSeconds', type: 'integer', description: 'Seconds to end.' },
  text('propagationPolicy', 'Background, Foreground or Orphan.'),
  { name: 'orphanDependents', type: 'boolean', description: 'The older propagationPolicy.' },
]

function text(name: string, description: string): QueryParameter {
  return { name, type: 'string', description }
}
