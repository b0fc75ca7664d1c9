import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { formatMac } from '../../../src/kernel/neighbours/mac-address.ts'
import type { LinkStatus } from '../../../src/kernel/neighbours/neighbour-responder.ts'
import {
  conformanceCases,
  runCase,
  type TestLink,
} from '../../../src/kernel/neighbours/testing/conformance.ts'
import { openWorkerResponder } from '../../../src/kernel/neighbours/worker-responder.ts'
import { monotonicMs } from '../../../src/lib/clock.ts'
import type { NodeProxyError } from '../../../src/lib/error.ts'
import { familyOf, formatIp, type IpAddress } from '../../../src/lib/ip.ts'
import { type Frame, OtherHost } from './other-host.ts'

const MAC = '02:00:00:00:00:01'
const HOST_MAC = '02:00:00:00:00:02'
const HOST = { 4: '192.0.2.2' as IpAddress, 6: '2001:db8::2' as IpAddress }
/** An answer comes within a millisecond; this much later there will be none. */
const SILENCE_MS = 150
const LIMIT_MS = 60_000
const MEASURED = 2_000

const ip = (...words: readonly string[]) => execFileSync('ip', words)

/** Until both ends have a carrier, the kernel drops what they send. */
async function addPair(): Promise<OtherHost> {
  const peer = ['peer', 'name', 'peer0', 'address', HOST_MAC]
  ip('link', 'add', 'eth0', 'address', MAC, 'type', 'veth', ...peer)
  ip('link', 'set', 'peer0', 'up')
  ip('link', 'set', 'eth0', 'up')
  await carrier()
  return new OtherHost('peer0', HOST_MAC)
}

async function carrier(): Promise<void> {
  const isUp = (device: string) =>
    readFileSync(`/sys/class/net/${device}/operstate`, 'utf8').trim() === 'up'
  while (!isUp('eth0') || !isUp('peer0')) await delay(5)
}

/** The address that a frame answers, and the one that it announces. */
function answered({ arp, message }: Frame): string | undefined {
  if (arp !== undefined && arp.operation === 2 && formatMac(arp.targetMac) === HOST_MAC) {
    return formatIp(arp.senderIp)
  }
  return message?.type === 136 && message.solicited ? formatIp(message.target) : undefined
}

/** One of the two gratuitous forms of ARP, so that a round counts once. */
function announced({ arp, message }: Frame): string | undefined {
  const isOwn = arp !== undefined && formatIp(arp.senderIp) === formatIp(arp.targetIp)
  if (isOwn) return arp.operation === 1 ? formatIp(arp.senderIp) : undefined
  if (message?.type !== 136 || message.solicited || !message.override) return undefined
  return formatIp(message.target)
}

/** A pair of interfaces in this namespace: the responder's, and the other host's. */
class KernelLink implements TestLink {
  readonly #frames: Frame[] = []
  #host: OtherHost

  constructor(host: OtherHost) {
    this.#host = host
  }

  now = monotonicMs
  open: TestLink['open'] = (handlers) => openWorkerResponder('eth0', handlers)
  pass: TestLink['pass'] = (ms) => delay(ms)

  mac(): string {
    return readFileSync('/sys/class/net/eth0/address', 'utf8').trim()
  }

  async request(address: IpAddress): Promise<readonly string[]> {
    this.#read()
    const before = this.#frames.length
    this.#host.request(address, HOST[familyOf(address)])
    const end = performance.now() + SILENCE_MS
    while (performance.now() < end) await delay(5)
    this.#read()
    return this.#frames
      .slice(before)
      .flatMap((frame) => (answered(frame) === address ? [macIn(frame)] : []))
  }

  heard(address: IpAddress): readonly string[] {
    this.#read()
    return this.#frames.flatMap((frame) => (announced(frame) === address ? [macIn(frame)] : []))
  }

  announceAs(address: IpAddress, mac: string): void {
    this.#host.announce(address, mac)
  }

  sendTruncated(): void {
    const operation = Buffer.from('0001080006040001020000000002c0000202000000000000c0000232', 'hex')
    const bogus = Buffer.from(operation)
    // A group as the sender: no host may send that.
    bogus[8] = 0x01
    this.#host.send(Buffer.alloc(6, 0xff), 4, bogus)
  }

  async change(to: Parameters<TestLink['change']>[0]): Promise<void> {
    if (typeof to === 'object') ip('link', 'set', 'eth0', 'address', to.mac)
    else if (to === 'down') ip('link', 'set', 'eth0', 'down')
    else if (to === 'without carrier') ip('link', 'set', 'peer0', 'down')
    else if (to === 'absent') this.remove()
    else if (existsSync('/sys/class/net/eth0')) {
      for (const device of ['peer0', 'eth0']) ip('link', 'set', device, 'up')
      await carrier()
    } else this.#host = await addPair()
  }

  async until(condition: () => boolean): Promise<void> {
    const end = performance.now() + LIMIT_MS
    while (!condition()) {
      if (performance.now() > end) throw new Error(`not within ${LIMIT_MS} ms`)
      await delay(5)
    }
  }

  remove(): void {
    this.#host.close()
    ip('link', 'del', 'eth0')
  }

  #read(): void {
    this.#frames.push(...this.#host.receive())
  }
}

function macIn({ arp, message, source }: Frame): string {
  return formatMac(arp?.senderMac ?? message?.linkAddress ?? Buffer.from(source))
}

/** Milliseconds from a request until its answer was read, by a thread that does nothing else. */
async function measure(
  address: IpAddress,
): Promise<{ readonly p50: number; readonly p99: number }> {
  const host = await addPair()
  const handlers = { onConflict: () => {}, onLink: () => {}, onLost: () => {} }
  const responder = await openWorkerResponder('eth0', handlers)
  await responder.announce(new Map([[address, Number.POSITIVE_INFINITY]]))
  await delay(2_500)
  const times: number[] = []
  for (let count = 0; count < MEASURED; count += 1) {
    host.receive()
    const start = performance.now()
    host.request(address, HOST[familyOf(address)])
    const isAnswer = (frame: Frame) => answered(frame) === address
    let answer: Frame | undefined
    while (answer === undefined && performance.now() < start + LIMIT_MS) {
      answer = host.receive().find(isAnswer)
    }
    times.push((answer?.at ?? Number.POSITIVE_INFINITY) - start)
  }
  await responder.close()
  host.close()
  ip('link', 'del', 'eth0')
  const sorted = times.toSorted((a, b) => a - b)
  return { p50: sorted[MEASURED * 0.5]!, p99: sorted[MEASURED * 0.99]! }
}

async function runAll(): Promise<Readonly<Record<string, string>>> {
  const results: Record<string, string> = {}
  for (const name of Object.keys(conformanceCases)) {
    const link = new KernelLink(await addPair())
    try {
      await runCase(name, link)
      results[name] = 'ok'
    } catch (error) {
      results[name] = error instanceof Error ? (error.stack ?? error.message) : String(error)
    }
    link.remove()
  }
  return results
}

/** What is reported without the right, of the loopback, and of an interface that is not there. */
async function refusals() {
  const [states, absent]: [unknown[], string[]] = [[], []]
  const handlers = { onConflict: () => {}, onLost: () => {} }
  const onLink = (status: LinkStatus) =>
    states.push(
      status.state === 'failed' ? { state: 'failed', message: status.error.message } : status,
    )
  const loopback = await openWorkerResponder('lo', { ...handlers, onLink })
  const none = await openWorkerResponder('none0', {
    ...handlers,
    onLink: ({ state }) => absent.push(state),
  })
  await loopback.announce(new Map([['192.0.2.50' as IpAddress, Number.POSITIVE_INFINITY]]))
  await Promise.all([loopback.close(), none.close()])
  const node = [process.execPath, '--no-warnings', fileURLToPath(import.meta.url), 'open']
  const without = execFileSync('setpriv', ['--bounding-set', '-net_raw', ...node]).toString()
  return { withoutRights: JSON.parse(without), loopback: states, absent }
}

async function openAlone() {
  const handlers = { onConflict: () => {}, onLink: () => {}, onLost: () => {} }
  return openWorkerResponder('lo', handlers).then(
    () => 'opened',
    ({ code, message, hint }: NodeProxyError) => ({ code, message, hint }),
  )
}

async function measureBoth() {
  const arp = await measure('192.0.2.50' as IpAddress)
  return { arp, nd: await measure('2001:db8::50' as IpAddress) }
}

const tasks = { all: runAll, open: openAlone, refusals, measure: measureBoth }
const [what = 'all'] = process.argv.slice(2)
process.stdout.write(JSON.stringify(await tasks[what as keyof typeof tasks]()))
