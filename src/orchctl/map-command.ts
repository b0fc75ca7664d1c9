import type { Command } from 'commander'
import { NodeProxyError } from '../lib/error.ts'
import {
  type Json,
  type JsonObject,
  mergePatch,
  objectAt,
  ownValue,
  scalarText,
  stringAt,
} from '../lib/json.ts'
import { quote } from '../lib/quote.ts'
import { openCatalogue } from './discovery/catalogue.ts'
import { selectedBy, selectedPaths } from './discovery/selected.ts'
import { failureError } from './session/call-failure.ts'
import { type CommandContext, type CommandModule, runs } from './session/command-module.ts'
import type { ScopeFlags } from './session/list-pages.ts'
import { type ExitCode, usageError } from './usage/exit-code.ts'
import { addWriteFlags, showWritten, type WriteFlags, writeQuery } from './writing/write-flags.ts'

interface MapFlags extends ScopeFlags, WriteFlags {
  readonly overwrite?: boolean
  readonly all?: boolean
}

/** Which map of the metadata a command changes. */
interface MapKind {
  readonly field: 'labels' | 'annotations'
  /** The word of the report: `labeled`. */
  readonly done: string
}

/** `orchctl label`. */
export const label: CommandModule = {
  define: (command, context) => defineFor(command, context, { field: 'labels', done: 'labeled' }),
}

/** `orchctl annotate`. */
export const annotate: CommandModule = {
  define: (command, context) =>
    defineFor(command, context, { field: 'annotations', done: 'annotated' }),
}

function defineFor(command: Command, context: CommandContext, kind: MapKind): void {
  command
    .argument('[operands...]', 'TYPE NAME... or TYPE/NAME ..., then KEY=VALUE ... and KEY- ...')
    .option('--overwrite', 'also where the key has another value')
    .option('--all', 'all objects of the type')
    .option('-l, --selector <labels>', 'objects with these labels')
    .option('-A, --all-namespaces', 'objects of all namespaces')
  addWriteFlags(command)
  runs<MapFlags>(command, context, (args, flags) => change(args, flags, { context, kind }))
}

interface Changing {
  readonly context: CommandContext
  readonly kind: MapKind
}

async function change(
  args: readonly string[],
  flags: MapFlags,
  { context, kind }: Changing,
): Promise<ExitCode> {
  const { names, changes } = splitChanges(args)
  if (changes.set.size + changes.removed.size === 0) {
    throw usageError('a change is missing', 'write KEY=VALUE, or KEY- to remove it')
  }
  const selected = await selectedBy(names, await openCatalogue(context))
  const isSelective = flags.all === true || flags.selector !== undefined
  if (!isSelective && selected.some(({ name }) => name === undefined)) {
    throw usageError('no object is named', 'name objects, or give -l SELECTOR or --all')
  }
  let code: ExitCode = 0
  for (const one of selected) {
    for (const { path } of await selectedPaths(one, flags, context)) {
      if (!(await changeOne(path, { flags, changes, context, kind }))) code = 1
    }
  }
  return code
}

interface ChangingOne extends Changing {
  readonly flags: MapFlags
  readonly changes: MapChanges
}

/** Changes one object, and reports a failure. @returns whether it succeeded */
async function changeOne(
  path: string,
  { flags, changes, context, kind }: ChangingOne,
): Promise<boolean> {
  const { api } = await context.session()
  const before = await api.request({ path })
  if (!before.ok) {
    context.report(failureError(before.failure))
    return false
  }
  const object = before.value.body
  const taken = overwritten(object, kind.field, changes)
  if (taken !== undefined && flags.overwrite !== true) {
    const message = `${stringAt(object, 'metadata', 'name')}: ${quote(taken)} has another value`
    const hint = 'give --overwrite to replace it'
    context.report(new NodeProxyError('NP_ORCHCTL_PRECONDITION', message, { hint }))
    return false
  }
  if (isUnchanged(object, kind.field, changes)) {
    await showWritten(object, `not ${kind.done}`, flags, context)
    return true
  }
  if (flags.dryRun === 'client') {
    const changed = mergePatch(object, mapPatch(kind.field, changes, undefined)) as JsonObject
    await showWritten(changed, kind.done, flags, context)
    return true
  }
  const guard = flags.overwrite === true ? undefined : versionOf(object)
  const answer = await api.request({
    method: 'PATCH',
    path,
    contentType: 'application/merge-patch+json',
    body: mapPatch(kind.field, changes, guard),
    query: writeQuery(flags),
  })
  if (answer.ok) await showWritten(answer.value.body, kind.done, flags, context)
  else context.report(failureError(answer.failure))
  return answer.ok
}

function versionOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'resourceVersion')
}

/** `key=value` and `key-` of a command line. */
interface MapChanges {
  readonly set: ReadonlyMap<string, string>
  readonly removed: ReadonlySet<string>
}

/** Divides the operands into names of objects and changes. @throws NP_ORCHCTL_USAGE */
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

/** The merge patch (RFC 7396) of the changes. With a version, the server refuses it if the object has changed. */
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
