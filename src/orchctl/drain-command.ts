import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { NodeProxyError } from '../lib/error.ts'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../lib/json.ts'
import { quote } from '../lib/quote.ts'
import { followCollection, timeoutSignal } from './discovery/follow-collection.ts'
import { oneLine } from './output/terminal-text.ts'
import { failureError } from './session/call-failure.ts'
import {
  type CommandContext,
  type CommandModule,
  type Run,
  runs,
} from './session/command-module.ts'
import { listObjects, PAGE_SIZE } from './session/list-pages.ts'
import { usageError } from './usage/exit-code.ts'
import { FIELD_MANAGER } from './writing/write-flags.ts'

const RETRY_MS = 5_000
const TOO_MANY_REQUESTS = 429
const CONFLICT = 409
const NOT_FOUND = 404
/** Annotation of a Pod that the kubelet runs from a file: it cannot be evicted. */
const MIRROR = 'kubernetes.io/config.mirror'

interface DrainFlags {
  readonly ignoreDaemonsets?: boolean
  readonly force?: boolean
  readonly deleteEmptydirData?: boolean
  readonly gracePeriod?: string
  readonly timeout?: string
}

/** `orchctl cordon`. */
export const cordon: CommandModule = {
  define: (command, context) =>
    runs(command.argument('<nodes...>', 'names of Nodes'), context, cordoning(true)),
}

/** `orchctl uncordon`. */
export const uncordon: CommandModule = {
  define: (command, context) =>
    runs(command.argument('<nodes...>', 'names of Nodes'), context, cordoning(false)),
}

/** `orchctl drain`. */
export const drain: CommandModule = {
  define(command: Command, context: CommandContext) {
    command
      .argument('<nodes...>', 'names of Nodes')
      .option(
        '--ignore-daemonsets',
        'leave the Pods of DaemonSets: they would be created again at once',
      )
      .option('--force', 'also Pods that no controller replaces')
      .option('--delete-emptydir-data', 'also Pods that lose the data of an emptyDir volume')
      .option(
        '--grace-period <seconds>',
        'how many seconds a Pod may take to end; default: what its spec says',
      )
      .option('--timeout <duration>', 'how long to wait for all of them; default: without end')
    runs(command, context, drainNodes)
  },
}

function cordoning(isCordoned: boolean): Run<object> {
  return async (names, _flags, context) => {
    for (const name of names) await setSchedulable(name, isCordoned, context)
    return 0
  }
}

async function setSchedulable(
  name: string,
  isCordoned: boolean,
  context: CommandContext,
): Promise<void> {
  const { api } = await context.session()
  const path = `/api/v1/nodes/${encodeURIComponent(name)}`
  const before = await api.send({ path })
  const word = isCordoned ? 'cordoned' : 'uncordoned'
  const isSo = (valueAt(before, 'spec', 'unschedulable') === true) === isCordoned
  if (!isSo) {
    await api.send({
      method: 'PATCH',
      path,
      contentType: 'application/merge-patch+json',
      body: { spec: { unschedulable: isCordoned ? true : null } },
      query: { fieldManager: FIELD_MANAGER },
    })
  }
  context.print(`node/${oneLine(name)} ${isSo ? `already ${word}` : word}\n`)
}

const drainNodes: Run<DrainFlags> = async (names, flags, context) => {
  const grace = gracePeriodOf(flags)
  const timeout = timeoutSignal(flags.timeout)
  for (const name of names) await setSchedulable(name, true, context)
  for (const name of names) {
    const pods = await podsToEvict(name, flags, context)
    const signal = AbortSignal.any([context.host.signal, timeout])
    await Promise.all(pods.map((pod) => evict(pod, grace, { signal, context })))
    await untilGone(name, pods, { signal, context })
    if (context.host.signal.aborted) return 1
    if (timeout.aborted) {
      throw new NodeProxyError(
        'NP_ORCHCTL_DRAIN',
        `${oneLine(name)} still has Pods after --timeout`,
        {
          hint: 'orchctl get pods -A --field-selector spec.nodeName=NODE shows them; orchctl uncordon gives the node back',
        },
      )
    }
    context.print(`node/${oneLine(name)} drained\n`)
  }
  return 0
}

/** Seconds. @throws NP_ORCHCTL_USAGE */
function gracePeriodOf({ gracePeriod }: DrainFlags): number | undefined {
  if (gracePeriod === undefined || /^\d{1,9}$/.test(gracePeriod)) {
    return gracePeriod === undefined ? undefined : Number(gracePeriod)
  }
  throw usageError(`--grace-period ${quote(gracePeriod)} is no number`, 'write seconds')
}

/** The Pods that have to go. @throws NP_ORCHCTL_DRAIN where one of them may not, and no flag permits it */
async function podsToEvict(
  node: string,
  flags: DrainFlags,
  context: CommandContext,
): Promise<readonly JsonObject[]> {
  const { api } = await context.session()
  const call = { path: '/api/v1/pods', query: { fieldSelector: `spec.nodeName=${node}` } }
  const all = await listObjects(api, call, PAGE_SIZE)
  const reasons = all.map((pod) => ({ pod, ...judge(pod, flags) }))
  const forbidden = reasons.filter(({ flag }) => flag !== undefined)
  if (forbidden.length > 0) {
    const lines = forbidden.map(({ pod, flag }) => `${nameOf(pod)} (${flag})`)
    throw new NodeProxyError('NP_ORCHCTL_DRAIN', `Pods would be lost: ${lines.join(', ')}`, {
      hint: 'give the flags in parentheses, or move the Pods first; the node stays cordoned',
    })
  }
  return reasons.filter(({ isLeft }) => !isLeft).map(({ pod }) => pod)
}

/** Whether a Pod stays where it is, or which flag would be needed. */
function judge(
  pod: JsonObject,
  flags: DrainFlags,
): { readonly isLeft: boolean; readonly flag?: string } {
  if (valueAt(pod, 'metadata', 'annotations', MIRROR) !== undefined) return { isLeft: true }
  if (isFinished(pod)) return { isLeft: false }
  const owner = arrayAt(pod, 'metadata', 'ownerReferences').find(
    (one) => valueAt(one, 'controller') === true,
  )
  if (stringAt(owner, 'kind') === 'DaemonSet') {
    return flags.ignoreDaemonsets === true
      ? { isLeft: true }
      : { isLeft: false, flag: '--ignore-daemonsets' }
  }
  if (owner === undefined && flags.force !== true) return { isLeft: false, flag: '--force' }
  const hasData = arrayAt(pod, 'spec', 'volumes').some(
    (volume) => valueAt(volume, 'emptyDir') !== undefined,
  )
  return hasData && flags.deleteEmptydirData !== true
    ? { isLeft: false, flag: '--delete-emptydir-data' }
    : { isLeft: false }
}

function isFinished(pod: JsonObject): boolean {
  return ['Succeeded', 'Failed'].includes(stringAt(pod, 'status', 'phase'))
}

interface Waiting {
  readonly signal: AbortSignal
  readonly context: CommandContext
}

/**
 * Evicts a Pod, as soon as its PodDisruptionBudgets permit it, and never another one that has got its name meanwhile.
 * @throws NodeProxyError
 */
async function evict(
  pod: JsonObject,
  gracePeriodSeconds: number | undefined,
  { signal, context }: Waiting,
): Promise<void> {
  const { api } = await context.session()
  const [namespace, name] = ['namespace', 'name'].map((field) => stringAt(pod, 'metadata', field))
  const body = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: name ?? '', namespace: namespace ?? '' },
    deleteOptions: {
      preconditions: { uid: uidOf(pod) },
      ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    },
  }
  const own = `/api/v1/namespaces/${namespace}/pods/${name}`
  context.print(`evicting pod ${nameOf(pod)}\n`)
  while (!signal.aborted) {
    const answer = await api.request({ method: 'POST', path: `${own}/eviction`, body, signal })
    if (answer.ok || answer.failure.code === NOT_FOUND || signal.aborted) return
    const { code } = answer.failure
    if (code === CONFLICT) {
      const now = await api.request({ path: own, signal })
      if (now.ok ? uidOf(now.value.body) !== uidOf(pod) : now.failure.code === NOT_FOUND) return
    } else if (code !== TOO_MANY_REQUESTS) throw failureError(answer.failure)
    context.notice(`pod ${nameOf(pod)} may not be evicted yet: ${answer.failure.message}`)
    await delay(RETRY_MS, undefined, { signal }).catch(() => undefined)
  }
}

/** Waits until none of the Pods is on the node. */
async function untilGone(
  node: string,
  pods: readonly JsonObject[],
  { signal, context }: Waiting,
): Promise<void> {
  const left = new Set(pods.map(uidOf))
  if (left.size === 0) return
  const { api } = await context.session()
  const gone = new AbortController()
  const present = new Set<string>()
  await followCollection({
    api,
    call: { path: '/api/v1/pods', query: { fieldSelector: `spec.nodeName=${node}` } },
    pageSize: PAGE_SIZE,
    signal: AbortSignal.any([signal, gone.signal]),
    notice: (line) => context.notice(line),
    onChanges: async (changes) => {
      for (const { event, object } of changes) {
        if (event === 'DELETED') present.delete(uidOf(object))
        else present.add(uidOf(object))
      }
      if ([...left].every((uid) => !present.has(uid))) gone.abort()
    },
  })
}

function uidOf(pod: JsonObject): string {
  return stringAt(pod, 'metadata', 'uid')
}

function nameOf(pod: JsonObject): string {
  return oneLine(`${stringAt(pod, 'metadata', 'namespace')}/${stringAt(pod, 'metadata', 'name')}`)
}
