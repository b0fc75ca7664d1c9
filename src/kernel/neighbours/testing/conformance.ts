import { deepEqual, equal, ok } from 'node:assert/strict'
import type { IpAddress } from '../../../lib/ip.ts'
import type {
  AddressConflict,
  LinkStatus,
  NeighbourResponder,
  ResponderHandlers,
} from '../neighbour-responder.ts'

/** A link with a responder's interface and another host, real or fake. */
export interface TestLink {
  /** Milliseconds of the clock by which addresses expire. */
  now(): number
  open(handlers: ResponderHandlers): Promise<NeighbourResponder>
  /** The Ethernet address of the interface. */
  mac(): string
  /** Ethernet addresses of those that answer a request of the other host. */
  request(ip: IpAddress): Promise<readonly string[]>
  /** Ethernet addresses of the announcements that the other host received, one for each round of them. */
  heard(ip: IpAddress): readonly string[]
  /** The other host announces an address. */
  announceAs(ip: IpAddress, mac: string): void
  sendTruncated(): void
  change(to: 'up' | 'down' | 'without carrier' | 'absent' | { readonly mac: string }): Promise<void>
  /** Lets time pass until something is true. */
  until(condition: () => boolean): Promise<void>
  pass(ms: number): Promise<void>
}

const FOUR = '192.0.2.50' as IpAddress
const SIX = '2001:db8::50' as IpAddress
const OTHERS = ['192.0.2.51', '2001:db8::51', '2001:db8:1::50'].map((ip) => ip as IpAddress)
const OTHER_MAC = '02:00:00:00:00:99'
const NEW_MAC = '02:00:00:00:00:77'
const FOREVER = Number.POSITIVE_INFINITY

interface Opened {
  readonly link: TestLink
  readonly responder: NeighbourResponder
  readonly states: string[]
  readonly conflicts: AddressConflict[]
}

type Case = (opened: Opened) => Promise<void>

/** What every responder does, each by its name; throws an AssertionError otherwise. */
export const conformanceCases: Readonly<Record<string, Case>> = {
  async 'an empty set is silent'({ link, responder }) {
    for (const ip of [FOUR, SIX]) deepEqual(await link.request(ip), [])
    equal(responder.counts().announced, 0)
  },

  async 'the addresses of the set are answered, and no others'({ link, responder }) {
    await responder.announce(forever(FOUR, SIX))
    for (const ip of [FOUR, SIX]) deepEqual(await link.request(ip), [link.mac()])
    for (const ip of OTHERS) deepEqual(await link.request(ip), [])
    equal(responder.counts().answered, 2)
  },

  async 'each address is announced three times, also when the set is repeated'(opened) {
    const { link, responder } = opened
    const before = link.now()
    await responder.announce(forever(FOUR, SIX))
    await link.until(() => link.heard(FOUR).length === 3 && link.heard(SIX).length === 3)
    ok(link.now() - before >= 1_900)
    deepEqual(new Set([...link.heard(FOUR), ...link.heard(SIX)]), new Set([link.mac()]))
    await responder.announce(forever(FOUR, SIX))
    await link.pass(1_200)
    deepEqual([link.heard(FOUR).length, link.heard(SIX).length], [3, 3])
  },

  async 'a removed address is not answered any more'({ link, responder }) {
    await responder.announce(forever(FOUR, SIX))
    await responder.announce(forever(SIX))
    deepEqual(await link.request(FOUR), [])
    deepEqual(await link.request(SIX), [link.mac()])
    await responder.announce(new Map())
    deepEqual(await link.request(SIX), [])
  },

  async 'an address expires, and is announced anew when it returns'({ link, responder }) {
    await responder.announce(new Map([FOUR, SIX].map((ip) => [ip, link.now() + 600])))
    for (const ip of [FOUR, SIX]) deepEqual(await link.request(ip), [link.mac()])
    await link.pass(700)
    for (const ip of [FOUR, SIX]) deepEqual(await link.request(ip), [])
    equal(link.heard(FOUR).length, 1)
    await responder.announce(forever(FOUR, SIX))
    await link.until(() => link.heard(FOUR).length === 4 && link.heard(SIX).length === 4)
    deepEqual(await link.request(FOUR), [link.mac()])
  },

  async 'a later time replaces an earlier one without another announcement'(opened) {
    const { link, responder } = opened
    await responder.announce(new Map([[FOUR, link.now() + 600]]))
    await responder.announce(forever(FOUR))
    await link.until(() => link.heard(FOUR).length === 3)
    deepEqual(await link.request(FOUR), [link.mac()])
    await link.pass(1_200)
    equal(link.heard(FOUR).length, 3)
  },

  async 'an interface that was down is announced again'(opened) {
    await announcedAfter('down', opened)
  },

  async 'an interface that had no carrier is announced again'(opened) {
    await announcedAfter('without carrier', opened)
  },

  async 'another Ethernet address is announced'({ link, responder, states }) {
    await responder.announce(forever(FOUR, SIX))
    await link.change({ mac: NEW_MAC })
    const isHeard = (ip: IpAddress) => link.heard(ip).at(-1) === NEW_MAC
    await link.until(() => isHeard(FOUR) && isHeard(SIX))
    for (const ip of [FOUR, SIX]) deepEqual(await link.request(ip), [NEW_MAC])
    equal(states.at(-1), 'up')
  },

  async 'an interface that was removed is used when it is back'({ link, responder, states }) {
    await responder.announce(forever(FOUR))
    await link.change('absent')
    await link.until(() => states.at(-1) === 'absent')
    await responder.announce(forever(FOUR, SIX))
    await link.change('up')
    await link.until(() => states.at(-1) === 'up')
    for (const ip of [FOUR, SIX]) deepEqual(await link.request(ip), [link.mac()])
  },

  async 'another host that announces an address is reported once, and answered'(opened) {
    const { link, responder, conflicts } = opened
    await responder.announce(forever(FOUR, SIX))
    await link.until(() => link.heard(FOUR).length === 3 && link.heard(SIX).length === 3)
    for (const ip of [FOUR, FOUR, SIX, SIX]) link.announceAs(ip, OTHER_MAC)
    for (const ip of OTHERS) link.announceAs(ip, OTHER_MAC)
    const isDefended = (ip: IpAddress) => link.heard(ip).filter(isOwn).length === 4
    const isOwn = (mac: string) => mac === link.mac()
    await link.until(() => isDefended(FOUR) && isDefended(SIX) && conflicts.length === 2)
    deepEqual(conflicts, [
      { ip: FOUR, mac: OTHER_MAC },
      { ip: SIX, mac: OTHER_MAC },
    ])
    equal(responder.counts().conflicting, 4)
  },

  async 'what is cut off is counted, and the next request answered'({ link, responder }) {
    await responder.announce(forever(FOUR, SIX))
    link.sendTruncated()
    await link.until(() => responder.counts().ignored > 0)
    deepEqual(await link.request(FOUR), [link.mac()])
  },

  async 'a closed responder answers nothing'({ link, responder }) {
    await responder.announce(forever(FOUR, SIX))
    await responder.close()
    await responder.close()
    for (const ip of [FOUR, SIX]) deepEqual(await link.request(ip), [])
    await responder.announce(forever(FOUR))
    deepEqual(await link.request(FOUR), [])
  },
}

/** Runs one case on a new link. */
export async function runCase(name: string, link: TestLink): Promise<void> {
  const states: string[] = []
  const conflicts: AddressConflict[] = []
  const responder = await link.open({
    onConflict: (conflict) => conflicts.push(conflict),
    onLink: ({ state }: LinkStatus) => states.push(state),
    onLost: (error) => states.push(error.message),
  })
  try {
    await link.until(() => states.length > 0)
    await conformanceCases[name]!({ link, responder, states, conflicts })
  } finally {
    await responder.close()
  }
}

function forever(...ips: readonly IpAddress[]): ReadonlyMap<IpAddress, number> {
  return new Map(ips.map((ip) => [ip, FOREVER]))
}

async function announcedAfter(
  state: 'down' | 'without carrier',
  { link, responder, states }: Opened,
): Promise<void> {
  await responder.announce(forever(FOUR, SIX))
  await link.change(state)
  await link.until(() => states.at(-1) === state)
  const before = link.heard(FOUR).length
  await link.change('up')
  await link.until(() => link.heard(FOUR).length > before && link.heard(SIX).length > before)
  for (const ip of [FOUR, SIX]) deepEqual(await link.request(ip), [link.mac()])
  deepEqual(states, ['up', state, 'up'])
}
