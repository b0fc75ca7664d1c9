import { createSocket } from 'node:dgram'
import { lookup, Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type {
  Answer,
  HeldOutcome,
  HeldTask,
  HttpTask,
  NamesTask,
  RequestsOutcome,
  RequestsTask,
  Task,
  UdpTask,
} from './tasks.ts'

const ECHO_EVERY_MS = 50
/** Failures of one kind that are described, not only counted. */
const MAX_FAILURES = 10
/** The longest time for a byte to come back. */
const ECHO_MS = 10_000

/** What clients run, in a Pod and outside of the cluster: does the task of its argument, and prints what came of it. */
const task = JSON.parse(process.argv[2] ?? '') as Task
const result = await resultOf(task)
process.stdout.write(`${JSON.stringify(result)}\n`)
process.exit(0)

async function resultOf(one: Task): Promise<RequestsOutcome | HeldOutcome | readonly string[]> {
  if (one.kind === 'names') return await namesOf(one)
  return one.kind === 'held' ? await held(one) : await connections(one)
}

async function held({ host, port, streams }: HeldTask): Promise<HeldOutcome> {
  const over = new AbortController()
  process.stdin.on('end', () => over.abort()).resume()
  const outcome: HeldOutcome = { streams, exchanged: 0, broken: {} }
  const all = Array.from({ length: streams }, async () => {
    try {
      await hold(connect({ host, port, noDelay: true }), outcome, over.signal)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      add(outcome.broken, code ?? message)
    }
  })
  await Promise.all(all)
  return outcome
}

async function hold(socket: Socket, outcome: HeldOutcome, over: AbortSignal): Promise<void> {
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(ECHO_MS) })
    while (!over.aborted) {
      socket.write('x')
      // An end without an error is an error here: nobody has asked for it.
      const ended = once(socket, 'end').then(() => Promise.reject(new Error('ended')))
      const signal = AbortSignal.timeout(ECHO_MS)
      await Promise.race([once(socket, 'data', { signal }), ended])
      outcome.exchanged += 1
      await delay(ECHO_EVERY_MS)
    }
  } finally {
    socket.destroy()
  }
}

async function namesOf({ name, type }: NamesTask): Promise<readonly string[]> {
  if (type === undefined) {
    const found = await lookup(name, { all: true })
    return found.map(({ address }) => address).toSorted()
  }
  const records: readonly unknown[] = [await new Resolver().resolve(name, type)].flat()
  return records.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).toSorted()
}

async function connections(requests: RequestsTask): Promise<RequestsOutcome> {
  const { count, everyMs } = requests
  const over = new AbortController()
  if (count === undefined) process.stdin.on('end', () => over.abort()).resume()
  const outcome: RequestsOutcome = {
    attempts: 0,
    answers: {},
    sources: {},
    failures: {},
    firstFailures: [],
    seconds: 0,
  }
  const running = new Set<Promise<void>>()
  const began = performance.now()
  while (!over.signal.aborted && outcome.attempts !== count) {
    const early = began + outcome.attempts * (everyMs ?? 0) - performance.now()
    if (early > 0) await delay(early)
    outcome.attempts += 1
    const one = attempt(requests, outcome).finally(() => running.delete(one))
    running.add(one)
    if (everyMs === undefined) await one
  }
  const seconds = (performance.now() - began) / 1_000
  await Promise.all(running)
  return { ...outcome, seconds }
}

async function attempt(requests: RequestsTask, outcome: RequestsOutcome): Promise<void> {
  const at = new Date().toISOString()
  const from: { port?: number } = {}
  try {
    const { name, source } = await (requests.kind === 'http'
      ? overHttp(requests, from)
      : overUdp(requests))
    add(outcome.answers, name)
    add(outcome.sources, source)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code ?? message
    add(outcome.failures, why)
    if (outcome.failures[why]! <= MAX_FAILURES) {
      outcome.firstFailures.push({ at, ...from, why })
    }
  }
}

function add(counts: Record<string, number>, what: string): void {
  counts[what] = (counts[what] ?? 0) + 1
}

/** Each over a connection of its own, whose port `from` gets once it is established. */
async function overHttp(
  { url, from: localAddress, method, timeoutMs = 10_000 }: HttpTask,
  from: { port?: number },
): Promise<Answer> {
  const sent = request(url, {
    method: method ?? 'GET',
    agent: false,
    localAddress,
    signal: AbortSignal.timeout(timeoutMs),
  })
  sent.on('socket', (socket) =>
    socket.once('connect', () => {
      if (socket.localPort !== undefined) from.port = socket.localPort
    }),
  )
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`)
  return JSON.parse(text) as Answer
}

/** Each from a port of its own. */
async function overUdp({ host, port, timeoutMs = 10_000 }: UdpTask): Promise<Answer> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  try {
    socket.send('?', port, host)
    const [text] = await once(socket, 'message', { signal: AbortSignal.timeout(timeoutMs) })
    return JSON.parse(String(text)) as Answer
  } finally {
    socket.close()
  }
}
