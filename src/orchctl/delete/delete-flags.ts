import { type Command, Option } from 'commander'
import { parseDuration } from '../../lib/duration.ts'
import type { JsonObject } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { FileFlags } from '../../manifests/manifests.ts'
import type { ScopeFlags } from '../reading/scope.ts'
import { usageError } from '../usage/usage-error.ts'

/** The flags of `orchctl delete`. */
export interface DeleteFlags extends FileFlags, ScopeFlags {
  readonly all?: boolean
  readonly ignoreNotFound?: boolean
  readonly wait: boolean
  readonly timeout?: string
  readonly gracePeriod?: string
  readonly now?: boolean
  readonly force?: boolean
  readonly cascade: 'background' | 'foreground' | 'orphan'
  readonly dryRun?: 'client' | 'server'
  readonly output?: string
}

/** Adds them to the command. */
export function addDeleteFlags(command: Command): void {
  command
    .option('-l, --selector <labels>', 'objects with these labels')
    .option('--field-selector <fields>', 'objects with these fields')
    .option('-A, --all-namespaces', 'objects of all namespaces')
    .option('--all', 'all objects of the type')
    .option('--ignore-not-found', 'an object that does not exist is no error')
    .option('--no-wait', 'do not wait until the objects are gone')
    .option('--timeout <duration>', 'how long to wait; default: without end')
    .option('--grace-period <seconds>', 'the time that a Pod has to end; 0 needs --force')
    .option('--now', 'a grace period of one second')
    .option('--force', 'delete at once, without waiting for a node')
    .addOption(
      new Option('--cascade <how>', 'what happens to objects that this one owns')
        .choices(['background', 'foreground', 'orphan'])
        .default('background'),
    )
    .addOption(
      new Option('--dry-run <where>', 'show what would be deleted').choices(['client', 'server']),
    )
    .option('-o, --output <format>', 'name: the names alone')
}

const PROPAGATION = {
  background: 'Background',
  foreground: 'Foreground',
  orphan: 'Orphan',
} as const

/** The DeleteOptions of the request. @throws NP_ORCHCTL_USAGE */
export function deleteOptions(flags: DeleteFlags): JsonObject {
  const seconds = gracePeriodOf(flags)
  return {
    ...{ apiVersion: 'v1', kind: 'DeleteOptions' },
    propagationPolicy: PROPAGATION[flags.cascade],
    ...(seconds === undefined ? {} : { gracePeriodSeconds: seconds }),
    ...(flags.dryRun === 'server' ? { dryRun: ['All'] } : {}),
  }
}

function gracePeriodOf({ gracePeriod, now, force }: DeleteFlags): number | undefined {
  if (gracePeriod === undefined) {
    if (force === true) return 0
    return now === true ? 1 : undefined
  }
  if (!/^\d{1,9}$/.test(gracePeriod)) {
    throw usageError(`--grace-period ${quote(gracePeriod)} is no number of seconds`)
  }
  const seconds = Number(gracePeriod)
  if (seconds === 0 && force !== true) {
    throw usageError('--grace-period=0 needs --force', 'or write --now')
  }
  return seconds
}

/** Milliseconds to wait; undefined: without end. @throws NP_ORCHCTL_USAGE */
export function timeoutOf({ timeout }: DeleteFlags): number | undefined {
  if (timeout === undefined || timeout === '0' || timeout === '0s') return undefined
  const ms = parseDuration(timeout)
  if (ms === undefined) throw usageError(`--timeout ${quote(timeout)} is no duration`, 'write 30s')
  return ms
}
