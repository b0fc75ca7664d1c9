import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { type PodState, readSlice, type SliceState } from './cluster/cluster-state.ts'
import { explainCommand, flushCommand, otherTerminal, showCommand } from './environment/by-hand.ts'
import { REQUESTS, type Reply, type Request } from './environment/request.ts'
import type { Sandbox } from './environment/sandbox.ts'
import { PODS } from './network/topology.ts'
import { renderScreen, requestLine } from './screen/screen.ts'
import { openTerminal } from './screen/terminal.ts'
import { commandsByHand, type SentRequest, serviceRow, type View } from './screen/view.ts'
import { send } from './tour/run-tour.ts'

/** Milliseconds until a dead pod is started again: time to see the traffic move. */
export const REVIVAL_MS = 15_000

const CTRL_C = '\u0003'

const KEPT = 100

const LOG_LINES = 3

/** Milliseconds between two requests; a request without an answer does not delay the next one. */
const EVERY_MS = 250
const TIMEOUT_MS = 1500

/** The requests that are sent in turn: mostly the Service that the keys scale. */
const TURNS: readonly Request[] = [
  REQUESTS.clientToPublic,
  REQUESTS.podToWeb,
  REQUESTS.clientToPublic,
  REQUESTS.clientToLocal,
  REQUESTS.clientToPublic,
  REQUESTS.clientToCart,
  REQUESTS.clientToPublic,
  REQUESTS.otherClientToCart,
  REQUESTS.clientToPublic,
  REQUESTS.clientToBalanced,
  REQUESTS.clientToCatalog,
  REQUESTS.clientToEmpty,
  REQUESTS.clientToPublic,
  REQUESTS.otherClientToBalanced,
]

const SCALED = 'web-public'

/** Milliseconds between two updates of the screen. */
const FRAME_MS = 250
const REVIVE_MS = 1000

/** Shows the sandbox until `signal` is aborted or the user quits. */
export async function runLive(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  const quit = new AbortController()
  const until = AbortSignal.any([signal, quit.signal])
  const model = new Model(sandbox)
  const reviving = revive(sandbox, model, until)
  const show = process.stdout.isTTY ? showScreen : showPlain
  try {
    await show({ sandbox, model, until, quit: () => quit.abort() })
  } finally {
    quit.abort()
    await reviving
  }
}

/** Starts pods again that have been dead for a while. */
async function revive(sandbox: Sandbox, model: Model, until: AbortSignal): Promise<void> {
  const revival = new Revival()
  while (!until.aborted) {
    for (const pod of revival.due(sandbox.cluster.pods.states(), Date.now())) {
      await executeCommand(sandbox, model, { kind: 'toggle', pod })
    }
    await delay(REVIVE_MS, undefined, { signal: until }).catch(() => undefined)
  }
}

async function showScreen({ sandbox, model, until, quit }: Display): Promise<void> {
  const onKey = (key: string): void => {
    const command = commandOf(key)
    if (command?.kind === 'quit') quit()
    else if (command !== undefined) void executeCommand(sandbox, model, command)
  }
  const terminal = openTerminal(onKey)
  const stop = startStream(sandbox, (sent) => model.tally.add(sent))
  try {
    while (!until.aborted) {
      terminal.draw(renderScreen(model.view(), terminal.size()))
      await delay(FRAME_MS, undefined, { signal: until }).catch(() => undefined)
    }
  } finally {
    stop()
    terminal.close()
  }
}

/** What a display of the sandbox needs. */
interface Display {
  readonly sandbox: Sandbox
  readonly model: Model
  /** Shown until this is aborted. */
  readonly until: AbortSignal
  readonly quit: () => void
}

/** The display without a terminal: the cluster, the commands to try, then a line for every request. */
async function showPlain({ sandbox, model, until }: Display): Promise<void> {
  const view = model.view()
  const commands = commandsByHand(view)
  print([`try, ${view.terminal}`, ...commands.map((command) => `  ${command}`), ''])
  const stop = startStream(sandbox, (sent) => {
    model.tally.add(sent)
    print([requestLine(sent).reduce((line, { text }) => line + text, '')])
  })
  if (!until.aborted) await once(until, 'abort')
  stop()
}

function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`)
}

/** Executes the command of a key; the notice shows what was done, and how long it took to reach the kernel. */
async function executeCommand(
  sandbox: Sandbox,
  model: Model,
  command: Exclude<Command, { kind: 'quit' }>,
): Promise<void> {
  const began = performance.now()
  try {
    const done = await execute(sandbox, model, command)
    model.notice = `${done}; in the kernel after ${Math.round(performance.now() - began)} ms`
  } catch (error) {
    model.notice = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
  }
}

async function execute(
  sandbox: Sandbox,
  model: Model,
  command: Exclude<Command, { kind: 'quit' }>,
): Promise<string> {
  const { pods, catalog } = sandbox.cluster
  if (command.kind === 'scale') {
    const replicas = Math.min(PODS.length, Math.max(0, model.replicas(SCALED) + command.by))
    await pods.scale(replicas)
    await sandbox.settled()
    return `${SCALED} scaled to ${replicas}`
  }
  if (command.kind === 'rollOut') {
    const version = await catalog.next()
    await sandbox.settled()
    return `catalog has only pods of ${version}`
  }
  const isAlive = pods.state(command.pod).pid !== undefined
  await (isAlive ? pods.signal(command.pod, 'SIGKILL') : pods.start(command.pod))
  await sandbox.settled()
  return `${command.pod} ${isAlive ? 'killed' : 'started'}`
}

/** Sends requests until the returned function is called. */
function startStream(sandbox: Sandbox, onSent: (sent: SentRequest) => void): () => void {
  let turn = 0
  let stopped = false
  const timer = setInterval(() => {
    const request = TURNS[turn++ % TURNS.length]
    if (request === undefined) return
    const at = Date.now()
    void send(sandbox, request, TIMEOUT_MS).then((reply) => {
      if (!stopped) onSent({ at, request, reply })
    })
  }, EVERY_MS)
  return () => {
    stopped = true
    clearInterval(timer)
  }
}

/** The data of the screen: the cluster as the API server reports it, the requests, the last notice. */
class Model {
  readonly tally = new Tally()
  notice = ''
  readonly #sandbox: Sandbox
  readonly #began = Date.now()

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox
  }

  /** How many pods a Service selects, ready or not. */
  replicas(service: string): number {
    const own = this.#slices().filter((row) => row.service === service)
    return own.reduce((sum, row) => sum + row.ready.length + row.notReady.length, 0)
  }

  view(): View {
    const { run, options, cluster, daemon } = this.#sandbox
    const { sent, answersByPod, outcomes } = this.tally
    return {
      sent,
      answersByPod,
      outcomes,
      notice: this.notice,
      runName: run.name,
      mode: options.mode,
      api: cluster.controlPlane,
      terminal: otherTerminal(process.env),
      explain: explainCommand(run),
      show: showCommand(options).join(' '),
      flush: flushCommand(options).join(' '),
      upMs: Date.now() - this.#began,
      services: sorted(cluster.state.services).map(serviceRow),
      backends: this.#slices(),
      pods: cluster.pods.states(),
      daemonPid: daemon.pid,
      daemonLog: daemon.lastLines(LOG_LINES),
    }
  }

  #slices(): readonly SliceState[] {
    return sorted(this.#sandbox.cluster.state.slices).map(readSlice)
  }
}

function sorted<T>(rows: ReadonlyMap<string, T>): readonly T[] {
  return [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}

/** The last requests, and how many there were by outcome and, of those that were answered, by pod. */
class Tally {
  readonly #sent: SentRequest[] = []
  readonly answersByPod = new Map<string, number>()
  readonly outcomes = new Map<Reply['kind'], number>()

  get sent(): readonly SentRequest[] {
    return this.#sent
  }

  add(sent: SentRequest): void {
    const { reply } = sent
    this.#sent.push(sent)
    if (this.#sent.length > KEPT) this.#sent.shift()
    this.outcomes.set(reply.kind, (this.outcomes.get(reply.kind) ?? 0) + 1)
    if (reply.kind !== 'answered') return
    this.answersByPod.set(reply.pod, (this.answersByPod.get(reply.pod) ?? 0) + 1)
  }
}

/** The command of a key. */
type Command =
  | { readonly kind: 'scale'; readonly by: 1 | -1 }
  /** Kills the pod, or starts it when it is dead. */
  | { readonly kind: 'toggle'; readonly pod: string }
  /** Changes the Deployment to its next version, or creates it. */
  | { readonly kind: 'rollOut' }
  | { readonly kind: 'quit' }

/** The command of a key, or undefined. */
export function commandOf(key: string): Command | undefined {
  if (key === '+' || key === '=') return { kind: 'scale', by: 1 }
  if (key === '-') return { kind: 'scale', by: -1 }
  if (key === 'd') return { kind: 'rollOut' }
  if (/^[123]$/.test(key)) return { kind: 'toggle', pod: `pod-${key}` }
  if (key === 'q' || key === CTRL_C) return { kind: 'quit' }
  return undefined
}

/** Selects the dead pods to restart, as a kubelet would restart them. */
export class Revival {
  readonly #deadSince = new Map<string, number>()

  /** Names of the pods that have been dead for long enough at `now`. */
  due(pods: readonly PodState[], now: number): readonly string[] {
    for (const { name, ready } of pods) {
      if (ready) this.#deadSince.delete(name)
      else if (!this.#deadSince.has(name)) this.#deadSince.set(name, now)
    }
    const due = [...this.#deadSince].filter(([, since]) => now - since >= REVIVAL_MS)
    for (const [name] of due) this.#deadSince.delete(name)
    return due.map(([name]) => name)
  }
}
