import { type StatusCause, StatusError } from '../status/status.ts'
import { pathText } from './field-path.ts'
import type { Owner } from './owner.ts'
import type { Conflict } from './ownership-change.ts'

/** 409 with a cause per field, in the words that clients print. */
export function applyConflict(conflicts: readonly Conflict[]): StatusError {
  const causes = conflicts.map(causeOf)
  return new StatusError({
    code: 409,
    reason: 'Conflict',
    message: text(conflicts),
    details: { causes },
  })
}

function causeOf({ owner, path }: Conflict): StatusCause {
  const message = `conflict with ${ownerText(owner)}`
  return { reason: 'FieldManagerConflict', message, field: pathText(path) }
}

function text(conflicts: readonly Conflict[]): string {
  const [first] = conflicts
  if (conflicts.length === 1) {
    return `Apply failed with 1 conflict: conflict with ${ownerText(first!.owner)}: ${pathText(first!.path)}`
  }
  const byOwner = Map.groupBy(conflicts, ({ owner }) => ownerText(owner))
  const groups = [...byOwner].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(groupText)
  return `Apply failed with ${conflicts.length} conflicts: ${groups.join('\n')}`
}

function groupText([owner, conflicts]: readonly [string, readonly Conflict[]]): string {
  const lines = conflicts.map(({ path }) => `- ${pathText(path)}`)
  return [`conflicts with ${owner}:`, ...lines].join('\n')
}

function ownerText({ name, operation, subresource, apiVersion, time }: Owner): string {
  const within = subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`
  const named = `${JSON.stringify(name)}${within}`
  if (operation === 'Apply') return named
  return `${named} using ${apiVersion}${time === '' ? '' : ` at ${time}`}`
}
