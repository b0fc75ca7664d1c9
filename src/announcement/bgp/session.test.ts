import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import {
  keepaliveMessage,
  type Message,
  MessageReader,
  notificationMessage,
  openMessage,
  updateMessage,
} from './messages.ts'
import { notification } from './notification.ts'
import type { Open } from './open.ts'
import type { Routes } from './routes.ts'
import { Session, type SessionAction, type SessionSettings } from './session.ts'
import { FakePeer } from './testing/fake-peer.ts'

const SETTINGS: SessionSettings = {
  localASN: 64_512,
  peerASN: 64_513,
  routerID: '10.0.0.1' as IpAddress,
  holdTime: 9,
  connectRetry: 5_000,
}
const OPEN: Open = {
  asn: 64_513,
  hasLongASN: true,
  holdTime: 90,
  routerID: '10.0.0.254' as IpAddress,
  families: [4, 6],
  hasRouteRefresh: true,
}
const V4 = '192.0.2.50' as IpAddress
const V6 = '2001:db8::50' as IpAddress
const REFRESH_4 = Uint8Array.from([...Array<number>(16).fill(0xff), 0, 23, 5, 0, 1, 0, 1])

function routes(...ips: readonly IpAddress[]): Routes {
  const hop = (ip: IpAddress) => (ip.includes(':') ? '2001:db8::1' : '10.0.0.1') as IpAddress
  return new Map(ips.map((ip) => [ip, { nextHop: hop(ip), communities: [] }]))
}

/** What is sent, as words: kinds of messages, `code/subcode` of a NOTIFICATION; and what else is to be done. */
function words(actions: readonly SessionAction[]): readonly string[] {
  return actions.map((action) => {
    if (action.kind !== 'send') return action.kind
    const [message] = new MessageReader().read(action.octets) as readonly Message[]
    if (message?.kind !== 'notification') return message?.kind ?? 'nothing'
    return `${message.notification.code}/${message.notification.subcode}`
  })
}

/** A session in a state, at 1000 ms. */
function sessionIn(
  state: 'Connect' | 'OpenSent' | 'OpenConfirm' | 'Established',
  { settings = {}, open = {} }: { settings?: Partial<SessionSettings>; open?: Partial<Open> } = {},
): Session {
  const session = new Session({ ...SETTINGS, ...settings })
  session.step(1_000)
  if (state === 'Connect') return session
  session.connected(1_000)
  if (state === 'OpenSent') return session
  session.receive(openMessage({ ...OPEN, ...open }), 1_000)
  if (state !== 'OpenConfirm') session.receive(keepaliveMessage(), 1_000)
  expect(session.state).toBe(state)
  return session
}

test('a session is opened, routes follow, keepalives go out three times in a hold time', () => {
  const session = new Session(SETTINGS)
  session.advertise(routes(V4))
  expect([session.nextAt, words(session.step(0)), session.state]).toEqual([
    0,
    ['connect'],
    'Connect',
  ])
  expect([words(session.connected(10)), session.state]).toEqual([['open'], 'OpenSent'])
  expect([words(session.receive(openMessage(OPEN), 20)), session.state]).toEqual([
    ['keepalive'],
    'OpenConfirm',
  ])
  expect([words(session.receive(keepaliveMessage(), 30)), session.state]).toEqual([
    ['update'],
    'Established',
  ])
  expect([session.families, session.since, session.failure]).toEqual([[4, 6], 30, undefined])
  expect([session.nextAt, words(session.step(3_020)), session.nextAt]).toEqual([
    3_020,
    ['keepalive'],
    6_020,
  ])
  expect(words(session.advertise(routes(V4, V6)))).toEqual(['update'])
  expect(words(session.advertise(routes(V4, V6)))).toEqual([])
  expect(words(session.advertise(routes(V6)))).toEqual(['update'])
  expect(session.counts).toEqual({
    sent: { open: 1, keepalive: 2, update: 3 },
    received: { open: 1, keepalive: 1 },
  })
})

test('silence of the peer ends it after the shorter hold time; a message prolongs it', () => {
  const session = sessionIn('Established', { open: { holdTime: 6 } })
  session.receive(updateMessage(Uint8Array.of(0, 0, 0, 0)), 4_000)
  expect(words(session.step(9_999))).toEqual(['keepalive'])
  expect([words(session.step(10_000)), session.state]).toEqual([['4/0', 'close'], 'Idle'])
  expect([session.failure, session.nextAt]).toEqual(['nothing came from it for 6 s', 15_000])
})

test('a peer with hold time 0 gets one keepalive, and is never late', () => {
  const session = sessionIn('Established', { open: { holdTime: 0 } })
  expect(session.nextAt).toBe(Number.POSITIVE_INFINITY)
})

test('what is not answered is tried again', () => {
  const session = sessionIn('Connect')
  expect(words(session.step(6_000))).toEqual(['close'])
  expect(session.failure).toBe('no answer to connections within 5 s')
  expect(words(session.step(6_000))).toEqual(['connect'])
  expect(words(session.disconnected('it refuses connections', 6_100))).toEqual(['close'])
  expect([session.failure, session.nextAt]).toEqual(['it refuses connections', 11_100])
  session.step(11_100)
  session.connected(11_200)
  expect([words(session.step(71_200)), session.failure]).toEqual([
    ['4/0', 'close'],
    'nothing came from it for 60 s',
  ])
})

test('a family that the peer does not take is not advertised', () => {
  const session = sessionIn('Established', { open: { families: [4] } })
  expect(words(session.advertise(routes(V4, V6)))).toEqual(['update'])
  expect([...session.advertised.keys()]).toEqual([V4])
})

test('a family is advertised again on request', () => {
  const session = sessionIn('Established')
  session.advertise(routes(V4, V6))
  expect(words(session.receive(REFRESH_4, 2_000))).toEqual(['update'])
  expect([...session.advertised.keys()].toSorted()).toEqual([V4, V6])
})

describe('an OPEN that does not fit is refused', () => {
  test.each([
    [
      'another AS',
      { asn: 64_999 },
      {},
      '2/2',
      'it is of AS 64999, and announcement.bgp.peers has 64513',
    ],
    [
      'the router ID of this node in the same AS',
      { asn: 64_512, routerID: SETTINGS.routerID },
      { peerASN: 64_512 },
      '2/3',
      'it has the router ID 10.0.0.1 of this node; set announcement.bgp.routerID',
    ],
  ])('%s', (_what, open, settings, code, failure) => {
    const session = sessionIn('OpenSent', { settings })
    const actions = session.receive(openMessage({ ...OPEN, ...open }), 1_000)
    expect([words(actions), session.failure, session.state]).toEqual([
      [code, 'close'],
      failure,
      'Idle',
    ])
  })

  test('but not the same router ID in another AS', () => {
    const { state } = sessionIn('Established', { open: { routerID: SETTINGS.routerID } })
    expect(state).toBe('Established')
  })
})

describe('a message in the wrong state is refused, by the state', () => {
  const update = updateMessage(Uint8Array.of(0, 0, 0, 0))
  test.each([
    ['OpenSent', keepaliveMessage(), '5/1'],
    ['OpenSent', update, '5/1'],
    ['OpenSent', REFRESH_4, '5/1'],
    ['OpenConfirm', openMessage(OPEN), '5/2'],
    ['OpenConfirm', update, '5/2'],
    ['OpenConfirm', REFRESH_4, '5/2'],
    ['Established', openMessage(OPEN), '5/3'],
  ] as const)('%s', (state, octets, code) => {
    const session = sessionIn(state)
    const after = [...octets, ...keepaliveMessage()]
    expect(words(session.receive(Uint8Array.from(after), 1_000))).toEqual([code, 'close'])
    expect([session.state, session.nextAt]).toEqual(['Idle', 6_000])
    expect(words(session.receive(keepaliveMessage(), 1_000))).toEqual([])
  })
})

test('octets that are no message are answered by their code, in every state', () => {
  for (const state of ['OpenSent', 'OpenConfirm', 'Established'] as const) {
    const session = sessionIn(state)
    const actions = session.receive(new Uint8Array(30), 1_000)
    expect([words(actions), session.state]).toEqual([['1/1', 'close'], 'Idle'])
    expect(session.failure).toBe(
      'this node ended the session: message header error: connection not synchronized',
    )
  }
})

test('a NOTIFICATION of the peer ends it without an answer, and says why', () => {
  const reasons = (
    [
      [2, 2],
      [2, 3],
      [6, 5],
      [6, 2],
    ] as const
  ).map(([code, subcode]) => {
    const session = sessionIn('OpenSent')
    const octets = notificationMessage(notification(code, subcode))
    expect(words(session.receive(octets, 1_000))).toEqual(['close'])
    return session.failure
  })
  expect(reasons).toEqual([
    'the peer ended the session: OPEN message error: bad peer AS; its configuration expects another AS than announcement.bgp.localASN',
    'the peer ended the session: OPEN message error: bad BGP identifier; set announcement.bgp.routerID',
    'the peer ended the session: cease: connection rejected; it has no neighbor with the address of this node',
    'the peer ended the session: cease: administrative shutdown',
  ])
})

test('a peer that ends connections without a word after an error leaves the reason as it was', () => {
  const session = sessionIn('OpenSent')
  session.receive(notificationMessage(notification(6, 2)), 1_000)
  const said = session.failure
  session.step(6_000)
  session.connected(6_000)
  session.disconnected('it ends connections', 6_000)
  expect([session.failure, session.state, session.nextAt]).toEqual([said, 'Idle', 11_000])
  session.step(11_000)
  session.disconnected('it refuses connections', 11_000)
  expect(session.failure).toBe('it refuses connections')
})

test('a session that is stopped withdraws, ceases, and does not come back', () => {
  const session = sessionIn('Established')
  session.advertise(routes(V4, V6))
  expect(words(session.stop('shutdown', 2_000))).toEqual(['update', 'update', '6/2', 'close'])
  expect([session.nextAt, session.advertised.size]).toEqual([Number.POSITIVE_INFINITY, 0])
  expect(words(session.advertise(routes(V4)))).toEqual([])
  expect(words(sessionIn('OpenSent').stop('changed', 2_000))).toEqual(['6/6', 'close'])
  expect(words(sessionIn('Connect').stop('deconfigured', 2_000))).toEqual(['close'])
  expect(words(new Session(SETTINGS).stop('shutdown', 0))).toEqual([])
})

/** A session and a router, with a clock, and a connection that can be cut or lose what is sent. */
class Simulation {
  readonly session = new Session(SETTINGS)
  readonly peer = new FakePeer(OPEN)
  #now = 0
  #isConnected = false
  isListening = true
  isSilent = false

  /** Lets so many milliseconds pass, and does what is due meanwhile. */
  pass(ms: number): void {
    const end = this.#now + ms
    while (this.session.nextAt <= end) {
      this.#now = Math.max(this.#now, this.session.nextAt)
      this.do(this.session.step(this.#now))
    }
    this.#now = end
  }

  do(actions: readonly SessionAction[]): void {
    for (const action of actions) {
      if (action.kind === 'connect') this.#connect()
      else if (action.kind === 'close') this.#isConnected = false
      else if (this.#isConnected && !this.isSilent) {
        for (const octets of this.peer.take(action.octets)) this.receive(octets)
      }
    }
  }

  receive(octets: Uint8Array): void {
    if (this.#isConnected) this.do(this.session.receive(octets, this.#now))
  }

  cut(): void {
    if (!this.#isConnected) return
    this.#isConnected = false
    this.do(this.session.disconnected('cut', this.#now))
  }

  #connect(): void {
    if (!this.isListening) return this.do(this.session.disconnected('refused', this.#now))
    this.#isConnected = true
    this.peer.connect()
    this.do(this.session.connected(this.#now))
  }
}

const ips = fc.uniqueArray(
  fc.nat(40).map((at) => (at % 3 === 0 ? `2001:db8::${at + 1}` : `192.0.2.${at}`) as IpAddress),
  { maxLength: 12 },
)
const steps: fc.Arbitrary<(simulation: Simulation) => void> = fc.oneof(
  ips.map((some) => (one: Simulation) => one.do(one.session.advertise(routes(...some)))),
  fc.nat(20_000).map((ms) => (one: Simulation) => one.pass(ms)),
  fc.constant((one: Simulation) => one.cut()),
  fc.boolean().map((isListening) => (one: Simulation) => {
    one.isListening = isListening
  }),
  fc.boolean().map((isSilent) => (one: Simulation) => {
    // What was lost does not arrive later: the connection cannot go on.
    if (one.isSilent && !isSilent) one.cut()
    one.isSilent = isSilent
  }),
  fc.uint8Array({ maxLength: 60 }).map((octets) => (one: Simulation) => one.receive(octets)),
  fc
    .constantFrom(REFRESH_4, keepaliveMessage(), notificationMessage(notification(6, 4)))
    .map((octets) => (one: Simulation) => one.receive(octets)),
)

test('whatever happened, once nothing fails the peer holds exactly what it should', () => {
  const check = (
    history: readonly ((simulation: Simulation) => void)[],
    last: readonly IpAddress[],
  ) => {
    const simulation = new Simulation()
    for (const step of history) step(simulation)
    if (simulation.isSilent) simulation.cut()
    Object.assign(simulation, { isListening: true, isSilent: false })
    simulation.do(simulation.session.advertise(routes(...last)))
    // Garbage before may be the head of a message that never ends, until the hold time is over.
    simulation.pass(120_000)
    expect(simulation.session.state).toBe('Established')
    expect([...simulation.peer.routes.keys()].toSorted()).toEqual([...last].toSorted())
    expect([...simulation.session.advertised.keys()].toSorted()).toEqual([...last].toSorted())
    simulation.do(simulation.session.stop('shutdown', 1e9))
    expect([simulation.peer.routes.size, simulation.peer.received.at(-1)]).toEqual([
      0,
      'notification',
    ])
  }
  fc.assert(fc.property(fc.array(steps, { maxLength: 30 }), ips, check), { numRuns: 1_000 })
})
