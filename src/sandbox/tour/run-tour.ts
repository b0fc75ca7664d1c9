import { type Reply, type Request, readApiReply, readReply } from '../environment/request.ts'
import type { Sandbox } from '../environment/sandbox.ts'
import { judge } from './expectation.ts'
import { type StepResult, stepText } from './report.ts'
import { type Step, stepsIn } from './step.ts'

/** How long silence must last to count as such; answers come within milliseconds. */
const SILENCE_MS = 1500
/** Generous: a busy machine is no fault, and lost packets are counted. */
const ANSWER_MS = 10_000

const LOG_LINES = 8

export interface TourOptions {
  readonly steps: readonly Step[]
  print(text: string): void
  /** Ends the tour before the next request. */
  readonly signal: AbortSignal
}

/** Runs every step in order, also after a failed one; returns how many failed. */
export async function runTour(sandbox: Sandbox, options: TourOptions): Promise<number> {
  const { mode } = sandbox.options
  const { adminKubeconfig: kubeconfig } = sandbox.cluster.controlPlane
  const access = { run: sandbox.run.name, kubeconfig }
  const steps = stepsIn(mode, options.steps)
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
    ...{ step, replies, problems },
    log: sandbox.daemon.lastLines(LOG_LINES),
  })
  let acting = true
  const acted = Promise.resolve(step.action?.run(sandbox)).finally(() => {
    acting = false
  })
  const replies: Reply[] = []
  try {
    if (step.action?.meanwhile !== true) await acted
    for (let sent = 0; (acting || sent < step.times) && !signal.aborted; sent++) {
      replies.push(await send(sandbox, step.request, timeoutOf(step)))
    }
    await acted
  } catch (error) {
    return result(replies, [error instanceof Error ? error.message : String(error)])
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
