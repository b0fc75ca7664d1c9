import type { ServedVersion } from '../resource/resource.ts'
import { badRequest, invalidOptions, invalidText, StatusError } from '../status/status.ts'
import { type FieldSelector, type Fields, parseFieldSelector } from './field-selector.ts'
import { type LabelSelector, type Labels, parseLabelSelector } from './label-selector.ts'

/** The properties that selectors use. */
export interface Selectable {
  readonly labels: Labels
  readonly fields: Fields
}

/** The objects that a list, watch or deletecollection selects. */
export interface Selection {
  matches(item: Selectable): boolean
  /** Whether everything matches. */
  readonly everything: boolean
}

export interface ListOptions {
  readonly selection: Selection
  /** Undefined: the newest. 0: any. */
  readonly revision: number | undefined
  readonly match: '' | 'Exact' | 'NotOlderThan'
  readonly limit: number | undefined
  readonly continueToken: string
}

/** The list options of a query, or an error for combinations that the protocol forbids. */
export function parseListOptions(
  served: ServedVersion,
  query: URLSearchParams,
): ListOptions | StatusError {
  const selection = parseSelection(served, query)
  if (selection instanceof StatusError) return selection
  const revision = parseRevision(query)
  if (revision instanceof StatusError) return revision
  const limit = parseCount(query, 'limit')
  if (limit instanceof StatusError) return limit
  const timeoutSeconds = parseCount(query, 'timeoutSeconds')
  if (timeoutSeconds instanceof StatusError) return timeoutSeconds
  const match = query.get('resourceVersionMatch') ?? ''
  const continueToken = query.get('continue') ?? ''
  const options = {
    selection,
    revision,
    match,
    limit: limit === 0 ? undefined : limit,
    continueToken,
  }
  return checkCombination(options, query) ?? (options as ListOptions)
}

function checkCombination(
  options: Omit<ListOptions, 'match'> & { readonly match: string },
  query: URLSearchParams,
): StatusError | undefined {
  const { revision, match, continueToken } = options
  const field = 'resourceVersionMatch'
  if (!['', 'Exact', 'NotOlderThan'].includes(match)) {
    return invalidOptions(field, `${JSON.stringify(match)} is neither Exact nor NotOlderThan`)
  }
  if (continueToken !== '' && match !== '') {
    return invalidOptions(field, 'resourceVersionMatch is forbidden when continue is provided')
  }
  if (continueToken !== '' && revision !== undefined && revision !== 0) {
    return badRequest('specifying resource version is not allowed when using continue')
  }
  if (query.has('sendInitialEvents')) {
    return invalidOptions('sendInitialEvents', 'sendInitialEvents is forbidden for list')
  }
  if (match !== '' && revision === undefined) {
    return invalidOptions(
      field,
      'resourceVersionMatch is forbidden unless resourceVersion is provided',
    )
  }
  if (match === 'Exact' && revision === 0) {
    return invalidOptions(field, 'Exact is forbidden for resourceVersion "0"')
  }
  return undefined
}

/** Label and field selectors of a query as one. */
export function parseSelection(
  served: ServedVersion,
  query: URLSearchParams,
): Selection | StatusError {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '')
  if (labels instanceof StatusError) return labels
  const supported = supportedFields(served)
  const nameOf = (field: string): string | undefined => {
    const stored = served.storedField?.(field) ?? field
    return supported.has(stored) ? stored : undefined
  }
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '', nameOf)
  if (fields instanceof StatusError) return fields
  return selectionOf(labels, fields)
}

function selectionOf(
  labels: LabelSelector | undefined,
  fields: FieldSelector | undefined,
): Selection {
  return {
    everything: labels === undefined && fields === undefined,
    matches: (item) =>
      (labels === undefined || labels(item.labels)) &&
      (fields === undefined || fields(item.fields)),
  }
}

function supportedFields(served: ServedVersion): ReadonlySet<string> {
  return new Set([
    'metadata.name',
    'metadata.namespace',
    ...Object.keys(served.resource.fields?.({}) ?? {}),
  ])
}

/** `resourceVersion` of a query. */
export function parseRevision(query: URLSearchParams): number | undefined | StatusError {
  const text = query.get('resourceVersion') ?? ''
  if (text === '') return undefined
  return (
    revisionNumber(text) ??
    badRequest(invalidText(text, 'resourceVersion must be a decimal number'))
  )
}

/** A resourceVersion as a number; undefined when it cannot be one. */
export function revisionNumber(text: string): number | undefined {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return undefined
  const revision = Number(text)
  return Number.isSafeInteger(revision) ? revision : undefined
}

/** A non-negative integer parameter. */
export function parseCount(query: URLSearchParams, name: string): number | undefined | StatusError {
  const text = query.get(name) ?? ''
  if (text === '') return undefined
  if (!/^[0-9]{1,10}$/.test(text)) {
    return badRequest(invalidText(text, `${name} must be a non-negative integer`))
  }
  return Number(text)
}

/** A boolean parameter: absent, `0` and `false` mean false, everything else true. */
export function parseFlag(query: URLSearchParams, name: string): boolean {
  return !['0', 'false'].includes(query.get(name)?.toLowerCase() ?? 'false')
}
