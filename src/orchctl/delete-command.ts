import { setTimeout as delay } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import { parseDuration } from '../lib/duration.ts'
import { type JsonObject, stringAt } from '../lib/json.ts'
import { quote } from '../lib/quote.ts'
import { type FileFlags, readManifests } from '../manifests/manifests.ts'
import { qualifiedKind } from './discovery/api-resource.ts'
import { openCatalogue } from './discovery/catalogue.ts'
import {
  type Selected,
  type SelectedPath,
  selectedBy,
  selectedPaths,
} from './discovery/selected.ts'
import { outputFormat } from './output/output-format.ts'
import { oneLine } from './output/terminal-text.ts'
import { failureError, isOutage } from './session/call-failure.ts'
import { type CommandContext, type Run, runs } from './session/command-module.ts'
import type { ScopeFlags } from './session/list-pages.ts'
import { type ExitCode, usageError } from './usage/exit-code.ts'
import { manifestTarget } from './writing/manifest-target.ts'
import { addFileFlags, dryRunSuffix, type WriteFlags } from './writing/write-flags.ts'

const PROPAGATION = {
  background: 'Background',
  foreground: 'Foreground',
  orphan: 'Orphan',
} as const

const FIRST_DELAY_MS = 50
const MAX_DELAY_MS = 1_000

/** `orchctl delete`. */
export function define(command: Command, context: CommandContext): void {
  command.argument('[operands...]', 'TYPE NAME..., TYPE/NAME ..., or TYPE with -l or --all')
  addDeleteFlags(addFileFlags(command))
  runs(command, context, remove)
}

const remove: Run<DeleteFlags> = async (args, flags, context) => {
  const format = await outputFormat(flags.output)
  if (format.type !== 'table' && format.type !== 'name') throw usageError('-o: only name')
  const timeoutMs = timeoutOf(flags)
  const isDryRun = flags.dryRun === 'client' || flags.dryRun === 'server'
  const objects = await (flags.filename === undefined
    ? ofOperands(args, flags, context)
    : ofFiles(args, flags, context))
  let code: ExitCode = 0
  const started: (SelectedPath & { readonly uid: string })[] = []
  for (const object of objects) {
    const uid = await removeOne(object, { flags, context, isName: format.type === 'name' })
    if (uid === undefined) code = 1
    else if (uid !== '') started.push({ ...object, uid })
  }
  if (objects.length === 0) context.notice('No resources found')
  if (!flags.wait || isDryRun) return code
  for (const { path, uid, resource, name } of started) {
    const shown = `${qualifiedKind(resource)} ${quote(name)}`
    const isGone = await waitUntilGone({ path, uid, shown, timeoutMs }, context)
    if (context.host.signal.aborted) return 1
    if (isGone) continue
    context.notice(`orchctl: ${shown} still exists; finalizers or Pods may keep it`)
    code = 1
  }
  return code
}

interface Removing {
  readonly flags: DeleteFlags
  readonly context: CommandContext
  readonly isName: boolean
}

/** @returns the UID to wait for; empty: nothing to wait for; undefined: it failed, which is reported */
async function removeOne(
  { resource, name, path }: SelectedPath,
  { flags, context, isName }: Removing,
): Promise<string | undefined> {
  const { api } = await context.session()
  const body = deleteOptions(flags)
  const answer =
    flags.dryRun === 'client'
      ? await api.request({ path })
      : await api.request({ method: 'DELETE', path, body })
  if (!answer.ok) {
    if (answer.failure.code === 404 && (flags.ignoreNotFound === true || isSelective(flags))) {
      return ''
    }
    const error = failureError(answer.failure)
    if (answer.failure.code === 0) throw error
    context.report(error)
    return undefined
  }
  const kind = qualifiedKind(resource)
  const suffix = `${flags.force === true ? ' force' : ''} deleted${dryRunSuffix(flags)}`
  context.print(`${oneLine(isName ? `${kind}/${name}` : `${kind} "${name}"${suffix}`)}\n`)
  const { body: result } = answer.value
  return stringAt(result, 'details', 'uid') || stringAt(result, 'metadata', 'uid')
}

async function ofOperands(
  args: readonly string[],
  flags: DeleteFlags,
  context: CommandContext,
): Promise<readonly SelectedPath[]> {
  const selected = await selectedBy(args, await openCatalogue(context))
  for (const one of selected) checkOperand(one, flags)
  const paths = await Promise.all(selected.map((one) => selectedPaths(one, flags, context)))
  return paths.flat()
}

/** Whether flags select objects: whoever deletes one of them first, it is gone. */
function isSelective({ all, selector, fieldSelector }: DeleteFlags): boolean {
  return selector !== undefined || fieldSelector !== undefined || all === true
}

/** @throws NP_ORCHCTL_USAGE if flags select objects in addition to a name, or nothing selects at all */
function checkOperand({ resource, name }: Selected, flags: DeleteFlags): void {
  if (name === undefined) {
    if (isSelective(flags)) return
    throw usageError(
      `${quote(resource.plural)} without a name would delete all of them`,
      'name objects, or give -l SELECTOR or --all',
    )
  }
  if (isSelective(flags)) throw usageError('names do not go with -l, --field-selector or --all')
  if (flags.allNamespaces === true) throw usageError('names do not go with -A')
}

async function ofFiles(
  args: readonly string[],
  flags: DeleteFlags,
  context: CommandContext,
): Promise<readonly SelectedPath[]> {
  if (args.length > 0) throw usageError('-f does not go with operands')
  if (isSelective(flags) || flags.allNamespaces === true) {
    throw usageError(
      '-f does not go with -l, --field-selector, --all or -A',
      'without them, each object of the files is deleted',
    )
  }
  const manifests = await readManifests(flags, context.host.stdin)
  const catalogue = await openCatalogue(context)
  const session = await context.session()
  return Promise.all(manifests.map((manifest) => manifestTarget(manifest, catalogue, session)))
}

interface Waiting {
  readonly path: string
  /** The UID of the deleted object, because another object of the same name does not count. */
  readonly uid: string
  /** Its kind and name, for messages. */
  readonly shown: string
  /** Undefined: no limit. */
  readonly timeoutMs: number | undefined
}

/**
 * Reads an object until it is gone, also while the server cannot answer, which is reported once.
 * @returns whether it was gone before the timeout, or may not be read: who may delete only cannot wait
 */
async function waitUntilGone(
  { path, uid, shown, timeoutMs }: Waiting,
  context: CommandContext,
): Promise<boolean> {
  const { api } = await context.session()
  const { signal } = context.host
  let isAnswered = true
  const end = timeoutMs === undefined ? undefined : performance.now() + timeoutMs
  let delayMs = FIRST_DELAY_MS
  while (!signal.aborted) {
    const answer = await api.request({ path, signal })
    if (answer.ok && stringAt(answer.value.body, 'metadata', 'uid') !== uid) return true
    if (!answer.ok && [403, 404].includes(answer.failure.code)) return true
    if (!answer.ok && !isOutage(answer.failure)) throw failureError(answer.failure)
    if (!answer.ok && isAnswered && !signal.aborted) {
      context.notice(`waiting until ${shown} is gone: ${answer.failure.message}; trying again`)
    }
    isAnswered = answer.ok
    if (end !== undefined && performance.now() >= end) return false
    const rest = end === undefined ? delayMs : Math.max(end - performance.now(), 0)
    await delay(Math.min(delayMs, rest), undefined, { signal }).catch(() => undefined)
    delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)
  }
  return false
}

/** The flags of `orchctl delete`. */
interface DeleteFlags extends FileFlags, ScopeFlags, Pick<WriteFlags, 'dryRun'> {
  readonly all?: boolean
  readonly ignoreNotFound?: boolean
  readonly wait: boolean
  readonly timeout?: string
  readonly gracePeriod?: string
  readonly now?: boolean
  readonly force?: boolean
  readonly cascade: 'background' | 'foreground' | 'orphan'
  readonly output?: string
}

/** Adds these flags to the command. */
function addDeleteFlags(command: Command): void {
  command
    .option('-l, --selector <labels>', 'objects with these labels')
    .option('--field-selector <fields>', 'objects with these fields')
    .option('-A, --all-namespaces', 'objects of all namespaces')
    .option('--all', 'all objects of the type')
    .option('--ignore-not-found', 'an object that does not exist is no error')
    .option('--no-wait', 'do not wait until the objects are gone')
    .option('--timeout <duration>', 'how long to wait for each object; default: no limit')
    .option('--grace-period <seconds>', 'how many seconds a Pod may take to end; 0 needs --force')
    .option('--now', 'a grace period of one second')
    .option(
      '--force',
      'delete at once, without waiting for the node to confirm that the Pod has ended',
    )
    .addOption(
      new Option('--cascade <how>', 'what happens to objects that this one owns')
        .choices(['background', 'foreground', 'orphan'])
        .default('background'),
    )
    .addOption(
      new Option('--dry-run <where>', 'show what would be deleted').choices([
        'none',
        'client',
        'server',
      ]),
    )
    .option('-o, --output <format>', 'name: the names alone')
}

/** The DeleteOptions of the request. @throws NP_ORCHCTL_USAGE */
function deleteOptions(flags: DeleteFlags): JsonObject {
  const seconds = gracePeriodOf(flags)
  return {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    propagationPolicy: PROPAGATION[flags.cascade],
    ...(seconds === undefined ? {} : { gracePeriodSeconds: seconds }),
    ...(flags.dryRun === 'server' ? { dryRun: ['All'] } : {}),
  }
}

/** @throws NP_ORCHCTL_USAGE */
function gracePeriodOf({ gracePeriod, now, force }: DeleteFlags): number | undefined {
  if (gracePeriod === undefined) {
    if (force === true) return 0
    return now === true ? 1 : undefined
  }
  if (!/^\d{1,9}$/.test(gracePeriod)) {
    throw usageError(`--grace-period ${quote(gracePeriod)} is no number of seconds`)
  }
  if (now === true) throw usageError('--now does not go with --grace-period')
  const seconds = Number(gracePeriod)
  if (seconds > 0 && force === true) {
    throw usageError(`--force does not go with --grace-period=${seconds}`, 'leave one of them out')
  }
  if (seconds === 0 && force !== true) {
    throw usageError('--grace-period=0 needs --force', 'or write --now')
  }
  return seconds
}

/** Milliseconds to wait; undefined: no limit. @throws NP_ORCHCTL_USAGE */
function timeoutOf({ timeout }: DeleteFlags): number | undefined {
  if (timeout === undefined || timeout === '0' || timeout === '0s') return undefined
  const ms = parseDuration(timeout)
  if (ms === undefined) throw usageError(`--timeout ${quote(timeout)} is no duration`, 'write 30s')
  return ms
}
