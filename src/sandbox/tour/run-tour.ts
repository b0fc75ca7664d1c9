import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { curlOf, type SandboxAccess } from '../environment/by-hand.ts'
import { type Reply, type Request, readApiReply, readReply } from '../environment/request.ts'
import type { Sandbox } from '../environment/sandbox.ts'
import { countPods, judge } from './expectation.ts'
import { type Step, stepsIn } from './steps.ts'

export interface StepResult {
  readonly step: Step
  readonly replies: readonly Reply[]
  readonly problems: readonly string[]
  /** The last lines of the daemon's log, which are shown when something is wrong. */
  readonly log: readonly string[]
}

/** Milliseconds without an answer that count as silence; answers come within milliseconds. */
const SILENCE_MS = 1500
/**
 * Milliseconds to wait for an answer. Long, because a busy machine is not a fault, and lost packets are counted anyway.
 */
const ANSWER_MS = 10_000

/** Milliseconds between requests while an action runs, so that User-mode Linux has time for what they wait for. */
const BETWEEN_MS = 25

const LOG_LINES = 8

const WITHOUT_POLICIES = `This kernel has no nftables for IPv4, which NetworkPolicies need in every mode: the tour leaves
out the steps about them.
`

export interface TourOptions {
  readonly steps: readonly Step[]
  print(text: string): void
  /** Aborted: ends the tour before the next request. */
  readonly signal: AbortSignal
}

/** Runs every step in order, also after a failed one; returns how many failed. */
export async function runTour(sandbox: Sandbox, options: TourOptions): Promise<number> {
  const { mode } = sandbox.options
  const { adminKubeconfig: kubeconfig } = sandbox.cluster.controlPlane
  const access = { run: sandbox.run.name, kubeconfig }
  const steps = stepsIn(mode, options.steps, sandbox.hasNftables)
  if (steps.length < stepsIn(mode, options.steps, true).length) options.print(WITHOUT_POLICIES)
  let wrong = 0
  for (const [index, step] of steps.entries()) {
    if (options.signal.aborted) break
    const result = await take(sandbox, step, options.signal)
    options.print(stepText(access, index + 1, result))
    if (result.problems.length > 0) wrong++
  }
  return wrong
}

async function take(sandbox: Sandbox, step: Step, signal: AbortSignal): Promise<StepResult> {
  const result = (replies: readonly Reply[], problems: readonly string[]): StepResult => ({
    step,
    replies,
    problems,
    log: sandbox.daemon.lastLines(LOG_LINES),
  })
  let acting = true
  const acted = Promise.resolve(step.action?.run(sandbox)).finally(() => {
    acting = false
  })
  // It may fail while a request is under way; the error is thrown below.
  acted.catch(() => undefined)
  const replies: Reply[] = []
  try {
    if (step.action?.meanwhile !== true) await acted
    for (let sent = 0; (acting || sent < step.times) && !signal.aborted; sent++) {
      replies.push(await send(sandbox, step.request, timeoutOf(step)))
      if (acting) await delay(BETWEEN_MS)
    }
    await acted
  } catch (error) {
    return result(replies, [messageOf(error)])
  }
  const addressOf = (pod: string): string => sandbox.cluster.pods.state(pod).ip
  return result(replies, judge(step.expected, replies, addressOf))
}

function timeoutOf({ expected }: Step): number {
  return expected.kind === 'silent' || expected.kind === 'unanswered' ? SILENCE_MS : ANSWER_MS
}

/** Sends one request from its sender. */
export async function send(
  sandbox: Sandbox,
  { from, source, url, asAccount }: Request,
  timeoutMs: number,
): Promise<Reply> {
  const bind = source === undefined ? {} : { from: source }
  if (asAccount !== true) return readReply(await sandbox.send(from, { url, timeoutMs, ...bind }))
  return readApiReply(await sandbox.send(from, { url, timeoutMs, asAccount }))
}

/** The text of a step; `serial` counts from 1. */
export function stepText(access: SandboxAccess, serial: number, result: StepResult): string {
  const { step, replies, problems, log } = result
  const { title, action, request, times } = step
  const again = times === 1 ? '' : `   # ${Math.max(times, replies.length)} times`
  return [
    `${String(serial).padStart(2)}. ${title}`,
    ...(action === undefined ? [] : [`    # ${action.description}`]),
    `    $ ${curlOf(access, request)}${again}`,
    `    ${summary(replies)}${meaning(request.url, replies)}`,
    ...repeated(replies),
    ...(problems.length === 0 ? ['    ok'] : wrong(problems, log)),
    '',
  ].join('\n')
}

/** The repeated SYNs that are known and not a fault of the path; see docs/operate/masquerade.md. */
function repeated(replies: readonly Reply[]): readonly string[] {
  const met = replies.filter((reply) => reply.kind === 'answered' && reply.metTimeWait > 0)
  if (met.length === 0) return []
  return [
    `    ${met.length} repeated a SYN that an earlier connection's TIME_WAIT had answered (known)`,
  ]
}

function wrong(problems: readonly string[], log: readonly string[]): readonly string[] {
  return [
    ...problems.map((problem) => `    WRONG: ${problem}`),
    ...log.map((line) => `      node-proxy: ${line}`),
  ]
}

/** `40 answered: pod-1 13, pod-2 14, pod-3 13; source seen: 10.244.0.1`. */
export function summary(replies: readonly Reply[]): string {
  const parts = (['answered', 'api', 'refused', 'silent', 'failed'] as const)
    .map((kind) => [kind, replies.filter((reply) => reply.kind === kind).length] as const)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => described(kind, count, replies))
  return parts.join('; ')
}

function described(kind: Reply['kind'], count: number, replies: readonly Reply[]): string {
  if (kind === 'api') return apiText(replies)
  return `${count} ${kind}${kind === 'answered' ? `: ${whoOf(replies)}` : ''}`
}

/** `200 "ServiceList"`, `403 "secrets is forbidden: …"`. */
function apiText(replies: readonly Reply[]): string {
  const texts = replies.flatMap((reply) =>
    reply.kind === 'api' ? [`${reply.status} ${quote(reply.text)}`] : [],
  )
  return [...new Set(texts)].join('; ')
}

/** The address of the name in the URL: `; web is 10.96.0.10`. */
function meaning(url: string, replies: readonly Reply[]): string {
  const { hostname } = new URL(url)
  const addresses = new Set(
    replies.flatMap((reply) => (reply.kind === 'answered' ? [reply.address] : [])),
  )
  addresses.delete(hostname)
  return addresses.size === 0 ? '' : `; ${hostname} is ${[...addresses].toSorted().join(', ')}`
}

function whoOf(replies: readonly Reply[]): string {
  const pods = [...countPods(replies)].map(([pod, count]) => `${pod} ${count}`)
  const seen = new Set(replies.flatMap((reply) => (reply.kind === 'answered' ? [reply.saw] : [])))
  return `${pods.join(', ')}; source seen: ${[...seen].toSorted().join(', ')}`
}
