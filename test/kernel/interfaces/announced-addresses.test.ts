import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addNamespace, type Namespace } from '../../support/lab/namespace.ts'

const FOUR = '192.0.2.50'
const SIX = '2001:db8::50'
const BOTH = `${FOUR} ${SIX}`
const MAC = { a: '02:00:00:00:00:0a', b: '02:00:00:00:00:0b', client: '02:00:00:00:00:33' }
const WAIT = { timeout: 60_000, interval: 20 }

type Name = keyof typeof MAC
const spaces = new Map<Name | 'lan', Namespace>()
const announcers = new Map<Name, Announcer>()

/** A program in a namespace that prints a JSON object in each line. */
class Announcer {
  readonly events: Readonly<Record<string, unknown>>[] = []
  readonly #child: ChildProcess

  constructor(namespace: Namespace) {
    this.#child = start(namespace, 'announcer.script.ts')
    let rest = ''
    this.#child.stdout!.on('data', (chunk: Buffer) => {
      const lines = `${rest}${chunk.toString()}`.split('\n')
      rest = lines.pop()!
      this.events.push(...lines.map((line) => JSON.parse(line) as Record<string, unknown>))
    })
  }

  /** Resolves when the set is in force. */
  async announce(addresses: string): Promise<void> {
    const isDone = () => this.events.filter(({ announced }) => announced === addresses).length
    const before = isDone()
    this.#child.stdin!.write(`${addresses}\n`)
    await expect.poll(isDone, WAIT).toBe(before + 1)
  }

  conflicts(): readonly unknown[] {
    return this.events.flatMap(({ conflict }) => (conflict === undefined ? [] : [conflict]))
  }

  async end(): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#child.stdin!.end()
    await ended
  }
}

function start(namespace: Namespace, script: string, args: readonly string[] = []): ChildProcess {
  const path = fileURLToPath(new URL(script, import.meta.url))
  const node = [process.execPath, '--no-warnings', path, ...args]
  return spawn('ip', ['netns', 'exec', namespace.name, ...node], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

/** A bridge, and a namespace at each of its ports. */
beforeAll(async () => {
  for (const name of ['lan', 'a', 'b', 'client'] as const) {
    spaces.set(name, await addNamespace(`np-announce-${process.pid}-${name}`))
  }
  const lan = spaces.get('lan')!
  await lan.ip(['link add br0 type bridge', 'link set br0 up'])
  for (const [name, mac] of Object.entries(MAC)) {
    const { name: peer } = spaces.get(name as Name)!
    await lan.ip([
      `link add port-${name} type veth peer name eth0 address ${mac} netns ${peer}`,
      `link set port-${name} master br0 up`,
    ])
    await spaces.get(name as Name)!.ip(['link set eth0 up'])
  }
  await spaces
    .get('client')!
    .ip(['address add 192.0.2.2/24 dev eth0', 'address add 2001:db8::2/64 dev eth0 nodad'])
  for (const name of ['a', 'b'] as const) announcers.set(name, new Announcer(spaces.get(name)!))
})

afterAll(async () => {
  for (const announcer of announcers.values()) await announcer.end()
  for (const space of spaces.values()) await space.remove()
})

/** The Ethernet address that the client has for an IP address. */
async function neighbour(ip: string): Promise<string | undefined> {
  const list = await spaces.get('client')!.exec(['ip', 'neigh', 'show', ip])
  return /lladdr (\S+)/.exec(list)?.[1]
}

/** Sends a datagram to each address; the client resolves it before, if it does not know it. */
async function sendToBoth(): Promise<void> {
  const send = `echo > /dev/udp/${FOUR}/9; echo > /dev/udp/${SIX}/9`
  await spaces.get('client')!.exec(['bash', '-c', send])
}

const neighbours = async () => [await neighbour(FOUR), await neighbour(SIX)]

test('the client resolves an address of either family, and only while it is announced', async () => {
  await sendToBoth()
  await expect.poll(neighbours, WAIT).toEqual([undefined, undefined])
  await announcers.get('a')!.announce(BOTH)
  await expect
    .poll(async () => {
      await sendToBoth()
      return neighbours()
    }, WAIT)
    .toEqual([MAC.a, MAC.a])
})

test('at a take-over the gratuitous messages change what the client has, and never two answer', async () => {
  await spaces.get('client')!.ip(['neigh flush all'])
  await announcers.get('a')!.announce(BOTH)
  await sendToBoth()
  await expect.poll(neighbours, WAIT).toEqual([MAC.a, MAC.a])
  const capture = start(spaces.get('client')!, 'capture.script.ts', [FOUR, SIX])
  const [output, hosts] = [collect(capture.stdout!), collect(capture.stderr!)]
  const answeredBy = (mac: string) => [FOUR, SIX].every((ip) => hosts().includes(`${ip} ${mac}`))
  await expect.poll(() => answeredBy(MAC.a), WAIT).toBe(true)
  // The client's kernel sends nothing meanwhile, so it does not resolve the address anew by itself.
  await announcers.get('a')!.announce('')
  await announcers.get('b')!.announce(BOTH)
  await expect.poll(neighbours, WAIT).toEqual([MAC.b, MAC.b])
  await expect.poll(() => answeredBy(MAC.b), WAIT).toBe(true)
  const ended = once(capture, 'close')
  capture.stdin!.end()
  await ended
  const captured = JSON.parse(output()) as Captured
  for (const ip of [FOUR, SIX]) {
    const ofAddress = captured.answers.filter(([, answered]) => answered === ip)
    const macs = ofAddress.map(([, , mac]) => mac)
    // First all answers of the one, then all of the other, at most one to each request.
    expect([...new Set(macs)]).toEqual([MAC.a, MAC.b])
    expect(macs.lastIndexOf(MAC.a)).toBeLessThan(macs.indexOf(MAC.b))
    expect(macs.length).toBeLessThanOrEqual(captured.requests)
  }
})

/** What a stream has brought so far. */
function collect(stream: Readable): () => string {
  let text = ''
  stream.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  return () => text
}

interface Captured {
  readonly requests: number
  readonly answers: readonly (readonly [request: number, ip: string, mac: string])[]
}

test('two that announce one address report each other', async () => {
  await announcers.get('a')!.announce(BOTH)
  await announcers.get('b')!.announce(BOTH)
  const conflicts = (mac: string) => [FOUR, SIX].map((ip) => ({ ip, mac }))
  const reported = (name: Name) => announcers.get(name)!.conflicts()
  await expect.poll(() => reported('b'), WAIT).toEqual(expect.arrayContaining(conflicts(MAC.a)))
  await expect.poll(() => reported('a'), WAIT).toEqual(expect.arrayContaining(conflicts(MAC.b)))
})
