import { type Json, type JsonObject, objectAt, ownValue, scalarText } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { usageError } from '../usage/usage-error.ts'

/** `key=value` and `key-` of a command line. */
export interface MapChanges {
  readonly set: ReadonlyMap<string, string>
  readonly removed: ReadonlySet<string>
}

/** Divides the operands into those that name objects and changes. @throws NP_ORCHCTL_USAGE */
export function splitChanges(args: readonly string[]) {
  const first = args.findIndex((arg, index) => index > 0 && isChange(arg))
  const at = first < 0 ? args.length : first
  return { names: args.slice(0, at), changes: changesOf(args.slice(at)) }
}

function isChange(arg: string): boolean {
  return arg.includes('=') || (arg.endsWith('-') && arg.length > 1)
}

function changesOf(args: readonly string[]): MapChanges {
  const set = new Map<string, string>()
  const removed = new Set<string>()
  for (const arg of args) {
    const at = arg.indexOf('=')
    if (at === 0 || !isChange(arg)) {
      throw usageError(`${quote(arg)} is no change`, 'write KEY=VALUE, or KEY- to remove it')
    }
    if (at > 0) set.set(arg.slice(0, at), arg.slice(at + 1))
    else removed.add(arg.slice(0, -1))
  }
  const both = [...set.keys()].find((key) => removed.has(key))
  if (both !== undefined) throw usageError(`${quote(both)} is set and removed`)
  return { set, removed }
}

/** A key that has another value already, and would be overwritten; undefined: none. */
export function overwritten(object: Json, field: string, { set }: MapChanges): string | undefined {
  const present = objectAt(object, 'metadata', field)
  return [...set].find(([key, value]) => {
    const before = ownValue(present, key)
    return before !== undefined && scalarText(before) !== value
  })?.[0]
}

/** Whether the object is as the changes want it. */
export function isUnchanged(object: Json, field: string, { set, removed }: MapChanges): boolean {
  const present = objectAt(object, 'metadata', field)
  const isSet = [...set].every(([key, value]) => ownValue(present, key) === value)
  return isSet && [...removed].every((key) => ownValue(present, key) === undefined)
}

/** The merge patch (RFC 7396) of the changes. With a version it is refused when the object changed meanwhile. */
export function mapPatch(
  field: string,
  { set, removed }: MapChanges,
  resourceVersion: string | undefined,
): JsonObject {
  const values = [...[...removed].map((key) => [key, null] as const), ...set]
  return {
    metadata: {
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      [field]: Object.fromEntries(values),
    },
  }
}
