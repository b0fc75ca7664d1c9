import type { Command } from 'commander'
import { isDeepEqual } from '../../lib/equal.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { type Json, type JsonObject, mergePatch, objectAt, valueAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { templateRows } from '../describe/pods.ts'
import { pairs, rowsText } from '../describe/rows.ts'
import {
  type ApiResource,
  collectionPath,
  objectPath,
  qualifiedName,
} from '../discovery/api-resource.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import { followCollection, timeoutSignal } from '../discovery/follow-collection.ts'
import { selectedBy } from '../discovery/selected.ts'
import { objectName } from '../output/documents.ts'
import { columns } from '../output/server-table.ts'
import { oneLine } from '../output/terminal-text.ts'
import { type CommandContext, type Run, runs } from '../session/command-module.ts'
import { PAGE_SIZE } from '../session/list-pages.ts'
import { usageError } from '../usage/exit-code.ts'
import { addWriteFlags, showWritten, type WriteFlags, writeQuery } from '../writing/write-flags.ts'
import { PROGRESS } from './progress.ts'
import { type Revision, revisionsOf, undone, undoPatch } from './revisions.ts'

const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt'
const MERGE = 'application/merge-patch+json'

interface StatusFlags {
  readonly watch: boolean
  readonly timeout?: string
}

interface HistoryFlags {
  readonly revision?: string
}

interface UndoFlags extends WriteFlags {
  readonly toRevision?: string
}

/** `orchctl rollout`. */
export function define(command: Command, context: CommandContext): void {
  const add = (name: string, description: string): Command =>
    command
      .command(name)
      .description(description)
      .argument(
        '[operands...]',
        'TYPE NAME... or TYPE/NAME ...: deployments, daemonsets, statefulsets',
      )
  const status = add('status', 'Wait until it is rolled out, and say how far it is.')
    .option('--no-watch', 'say how far it is, and wait for nothing')
    .option('--timeout <duration>', 'how long to wait; default: without end')
  runs(status, context, showStatus)
  const history = add('history', 'List its revisions, or show one.').option(
    '--revision <number>',
    'show this one in detail',
  )
  runs(history, context, showHistory)
  const back = add('undo', 'Go back to an earlier revision.').option(
    '--to-revision <number>',
    'default: the one before',
  )
  runs(addWriteFlags(back), context, undo)
  runs(addWriteFlags(add('restart', 'Replace its Pods by new ones.')), context, restart)
  const pause = add('pause', 'Roll out no further changes of a Deployment.')
  runs(addWriteFlags(pause), context, pausing(true))
  const resume = add('resume', 'Roll out changes of a Deployment again.')
  runs(addWriteFlags(resume), context, pausing(false))
}

/** An object that is rolled out. */
interface Workload {
  readonly resource: ApiResource
  readonly path: string
  readonly name: string
  readonly object: JsonObject
}

/** Does something for each named workload. @throws NodeProxyError at the first that fails */
async function each(
  args: readonly string[],
  context: CommandContext,
  act: (workload: Workload) => Promise<void>,
): Promise<void> {
  const selected = await selectedBy(args, await openCatalogue(context))
  const { api, namespace } = await context.session()
  for (const { resource, name } of selected) {
    if (name === undefined) throw usageError('no object is named', 'write TYPE NAME')
    if (PROGRESS.has(resource.plural) && resource.group === 'apps') continue
    throw new NodeProxyError(
      'NP_ORCHCTL_NO_ROLLOUT',
      `${qualifiedName(resource)} are not rolled out`,
      { hint: 'name a Deployment, a DaemonSet or a StatefulSet' },
    )
  }
  for (const { resource, name = '' } of selected) {
    const path = objectPath(resource, namespace, name)
    await act({ resource, path, name, object: await api.send({ path }) })
  }
}

const showStatus: Run<StatusFlags> = async (args, flags, context) => {
  const timeout = timeoutSignal(flags.timeout)
  await each(args, context, async (workload) => {
    if (flags.watch) await follow(workload, timeout, context)
    else reportProgress(workload, workload.object, context)
  })
  return 0
}

/** Prints each change of the progress until it is done. @throws NP_ORCHCTL_ROLLOUT */
async function follow(
  { resource, name, path }: Workload,
  timeout: AbortSignal,
  context: CommandContext,
): Promise<void> {
  const { api, namespace } = await context.session()
  const done = new AbortController()
  const signal = AbortSignal.any([context.host.signal, timeout, done.signal])
  let last = ''
  await followCollection({
    api,
    call: {
      path: collectionPath(resource, namespace),
      query: { fieldSelector: `metadata.name=${name}` },
    },
    pageSize: PAGE_SIZE,
    signal,
    notice: (line) => context.notice(line),
    onChanges: async (changes) => {
      for (const { event, object } of changes) {
        if (event === 'DELETED') throw rolloutError('object has been deleted')
        const { isDone, message } = progressOf(resource, object)
        if (message !== last) context.print(`${oneLine(message)}\n`)
        last = message
        if (isDone) return done.abort()
      }
    },
  })
  if (timeout.aborted && !done.signal.aborted) {
    const what = oneLine(path.split('/').slice(-2).join('/'))
    throw rolloutError(`${what} was not rolled out within --timeout`)
  }
}

function reportProgress({ resource }: Workload, object: JsonObject, context: CommandContext): void {
  context.print(`${oneLine(progressOf(resource, object).message)}\n`)
}

/** @throws NP_ORCHCTL_ROLLOUT */
function progressOf({ plural }: ApiResource, object: JsonObject) {
  const progress = PROGRESS.get(plural)!(object)
  if ('problem' in progress) throw rolloutError(progress.problem)
  return progress
}

function rolloutError(message: string): NodeProxyError {
  return new NodeProxyError('NP_ORCHCTL_ROLLOUT', message, {
    hint: 'orchctl describe shows the conditions and Events; orchctl rollout undo goes back',
  })
}

const showHistory: Run<HistoryFlags> = async (args, { revision }, context) => {
  const wanted = revision === undefined ? undefined : revisionNumber('--revision', revision)
  const session = await context.session()
  await each(args, context, async ({ resource, object }) => {
    const revisions = await revisionsOf(object, resource.plural, session)
    const name = oneLine(objectName(object))
    if (wanted === undefined) {
      const rows = revisions.map((one) => [String(one.number), one.changeCause || '<none>'])
      const table = columns([['REVISION', 'CHANGE-CAUSE'], ...rows])
      context.print(`${name} \n${table}\n`)
      return
    }
    const { template } = found(revisions, wanted, name)
    const labels = pairs(objectAt(template, 'metadata', 'labels'))
    const rows = [['Labels', labels] as const, ...templateRows(objectAt(template, 'spec'))]
    context.print(`${name} with revision #${wanted}\n${rowsText([['Pod Template', { rows }]])}`)
  })
  return 0
}

function revisionNumber(flag: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw usageError(`${flag} ${quote(text)} is no number`, `write ${flag}=3`)
}

/** @throws NP_ORCHCTL_ROLLOUT */
function found(revisions: readonly Revision[], wanted: number, name: string): Revision {
  const revision = revisions.find(({ number }) => number === wanted)
  if (revision !== undefined) return revision
  throw new NodeProxyError('NP_ORCHCTL_ROLLOUT', `${name} has no revision ${wanted}`, {
    hint: 'orchctl rollout history lists those that are kept',
  })
}

const undo: Run<UndoFlags> = async (args, flags, context) => {
  const wanted = revisionNumber('--to-revision', flags.toRevision ?? '0')
  const session = await context.session()
  await each(args, context, async (workload) => {
    const { object, resource } = workload
    const name = oneLine(objectName(object))
    refusePaused(object, 'cannot go back')
    const revisions = await revisionsOf(object, resource.plural, session)
    const target = wanted === 0 ? revisions.at(-2) : found(revisions, wanted, name)
    if (target === undefined) {
      throw new NodeProxyError('NP_ORCHCTL_ROLLOUT', `${name} has no revision before this one`)
    }
    if (isDeepEqual(target.template, objectAt(object, 'spec', 'template'))) {
      const skipped = `skipped rollback (current template already matches revision ${target.number})`
      await showWritten(object, skipped, flags, context)
      return
    }
    const change = {
      patch: undoPatch(object, target),
      type: 'application/json-patch+json',
      result: undone(object, target),
    }
    await write(workload, change, 'rolled back', { flags, context })
  })
  return 0
}

const restart: Run<WriteFlags> = async (args, flags, context) => {
  // Kubernetes' programs write whole seconds.
  const now = new Date().toISOString().replace(/\.\d+/, '')
  await each(args, context, async (workload) => {
    refusePaused(workload.object, 'is not restarted')
    const patch = { spec: { template: { metadata: { annotations: { [RESTARTED_AT]: now } } } } }
    await write(workload, merging(workload, patch), 'restarted', { flags, context })
  })
  return 0
}

/** @throws NP_ORCHCTL_PRECONDITION */
function refusePaused(object: JsonObject, what: string): void {
  if (valueAt(object, 'spec', 'paused') !== true) return
  const message = `${oneLine(objectName(object))} is paused and ${what}`
  throw new NodeProxyError('NP_ORCHCTL_PRECONDITION', message, { hint: 'orchctl rollout resume' })
}

function pausing(isPaused: boolean): Run<WriteFlags> {
  return async (args, flags, context) => {
    await each(args, context, async (workload) => {
      const { resource, object } = workload
      if (resource.plural !== 'deployments') {
        const message = `${qualifiedName(resource)} cannot be paused`
        throw new NodeProxyError('NP_ORCHCTL_NO_ROLLOUT', message, { hint: 'name a Deployment' })
      }
      if ((valueAt(object, 'spec', 'paused') === true) === isPaused) {
        const message = `${oneLine(objectName(object))} is ${isPaused ? 'already' : 'not'} paused`
        throw new NodeProxyError('NP_ORCHCTL_PRECONDITION', message)
      }
      const patch = { spec: { paused: isPaused ? true : null } }
      const done = isPaused ? 'paused' : 'resumed'
      await write(workload, merging(workload, patch), done, { flags, context })
    })
    return 0
  }
}

interface WorkloadChange {
  readonly patch: Json
  readonly type: string
  /** The object as the patch changes it, without what the server adds. */
  readonly result: JsonObject
}

function merging({ object }: Workload, patch: JsonObject): WorkloadChange {
  return { patch, type: MERGE, result: mergePatch(object, patch) as JsonObject }
}

interface Writing {
  readonly flags: WriteFlags
  readonly context: CommandContext
}

/** Patches a workload, and says what was done. @throws NodeProxyError */
async function write(
  { path }: Workload,
  { patch, type, result }: WorkloadChange,
  done: string,
  { flags, context }: Writing,
): Promise<void> {
  const { api } = await context.session()
  const written =
    flags.dryRun === 'client'
      ? result
      : await api.send({
          method: 'PATCH',
          path,
          contentType: type,
          body: patch,
          query: writeQuery(flags),
        })
  await showWritten(written, done, flags, context)
}
