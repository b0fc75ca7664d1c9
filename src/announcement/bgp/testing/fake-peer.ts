import { formatIp, type IpAddress } from '../../../lib/ip.ts'
import { keepaliveMessage, MessageReader, openMessage } from '../messages.ts'
import { describeNotification } from '../notification.ts'
import type { Open } from '../open.ts'

/** An UPDATE as a router reads it. */
export interface ReadUpdate {
  readonly withdrawn: readonly IpAddress[]
  readonly announced: readonly IpAddress[]
  /** Path attributes by their type, without their heads. */
  readonly attributes: ReadonlyMap<number, Uint8Array>
  readonly nextHop: IpAddress | undefined
}

/** Reads the body of an UPDATE, by sections 4.3 of RFC 4271 and 3 of RFC 4760; throws for what they do not allow. */
export function readUpdate(body: Uint8Array): ReadUpdate {
  const view = new DataView(body.buffer, body.byteOffset, body.length)
  const withdrawnLength = view.getUint16(0)
  const attributesLength = view.getUint16(2 + withdrawnLength)
  const attributesAt = 4 + withdrawnLength
  const routesAt = attributesAt + attributesLength
  const attributes = readAttributes(body.subarray(attributesAt, routesAt))
  const [reach, unreach] = [attributes.get(14), attributes.get(15)]
  const withdrawn = hosts(body.subarray(2, 2 + withdrawnLength), 4)
  const announced = hosts(body.subarray(routesAt), 4)
  const nextHop = attributes.get(3)
  if (reach !== undefined) {
    expectOctets(reach, [0, 2, 1, 16])
    if (reach[20] !== 0) throw new Error('the reserved octet is not 0')
    return {
      withdrawn,
      announced: [...announced, ...hosts(reach.subarray(21), 16)],
      attributes,
      nextHop: formatIp(reach.subarray(4, 20)),
    }
  }
  if (unreach !== undefined) expectOctets(unreach, [0, 2, 1])
  const gone = unreach === undefined ? [] : hosts(unreach.subarray(3), 16)
  return {
    withdrawn: [...withdrawn, ...gone],
    announced,
    attributes,
    nextHop: nextHop && formatIp(nextHop),
  }
}

/** What a router holds of a peer: the bodies of UPDATEs in, routes out. */
export class FakeRoutes {
  readonly routes = new Map<IpAddress, { nextHop: IpAddress; communities: string }>()

  take(body: Uint8Array): void {
    const { withdrawn, announced, nextHop, attributes } = readUpdate(body)
    for (const ip of withdrawn) {
      if (!this.routes.delete(ip)) throw new Error(`${ip} is withdrawn and was never announced`)
    }
    for (const ip of announced) {
      for (const type of [1, 2]) if (!attributes.has(type)) throw new Error(`no attribute ${type}`)
      const communities = [8, 32].map((type) =>
        Buffer.from(attributes.get(type) ?? []).toString('hex'),
      )
      this.routes.set(ip, { nextHop: nextHop!, communities: communities.join(' ') })
    }
  }
}

function readAttributes(octets: Uint8Array): ReadonlyMap<number, Uint8Array> {
  const attributes = new Map<number, Uint8Array>()
  let at = 0
  while (at < octets.length) {
    const isExtended = (octets[at]! & 0x10) !== 0
    const head = isExtended ? 4 : 3
    const length = isExtended ? (octets[at + 2]! << 8) | octets[at + 3]! : octets[at + 2]!
    const end = at + head + length
    if (end > octets.length) throw new Error('an attribute is longer than all of them')
    attributes.set(octets[at + 1]!, octets.subarray(at + head, end))
    at = end
  }
  return attributes
}

function hosts(octets: Uint8Array, size: 4 | 16): readonly IpAddress[] {
  const found: IpAddress[] = []
  for (let at = 0; at < octets.length; at += 1 + size) {
    if (octets[at] !== size * 8 || at + 1 + size > octets.length) throw new Error('no host route')
    found.push(formatIp(octets.subarray(at + 1, at + 1 + size)))
  }
  return found
}

function expectOctets(octets: Uint8Array, first: readonly number[]): void {
  if (first.some((octet, at) => octets[at] !== octet))
    throw new Error(`begins with ${octets.subarray(0, first.length).join()}`)
}

/** A router at the other end of a session: octets in, octets out. */
export class FakePeer {
  readonly #open: Open
  #rest: Uint8Array = new Uint8Array()
  #held = new FakeRoutes()
  /** Messages that it received in this session, by their kind. */
  #received: string[] = []
  #ended = ''

  constructor(open: Open) {
    this.#open = open
  }

  get routes(): FakeRoutes['routes'] {
    return this.#held.routes
  }

  get received(): readonly string[] {
    return this.#received
  }

  /** The last NOTIFICATION, in words. */
  get ended(): string {
    return this.#ended
  }

  /** A new connection. */
  connect(): void {
    this.#rest = new Uint8Array()
    this.#held = new FakeRoutes()
    this.#received = []
  }

  /** What it answers. */
  take(octets: Uint8Array): readonly Uint8Array[] {
    this.#rest = Uint8Array.from([...this.#rest, ...octets])
    const answers: Uint8Array[] = []
    while (this.#rest.length >= 19) {
      const length = (this.#rest[16]! << 8) | this.#rest[17]!
      if (this.#rest.length < length) break
      answers.push(...this.#answer(this.#rest.subarray(0, length)))
      this.#rest = this.#rest.subarray(length)
    }
    return answers
  }

  #answer(octets: Uint8Array): readonly Uint8Array[] {
    const [message] = new MessageReader().read(octets)
    const kind = message!.kind
    this.#received.push(kind)
    if (message?.kind === 'malformed') throw new Error(describeNotification(message.notification))
    if (message?.kind === 'notification') this.#ended = describeNotification(message.notification)
    if (kind === 'open') return [openMessage(this.#open), keepaliveMessage()]
    if (kind === 'update') this.#held.take(octets.subarray(19))
    return kind === 'keepalive' ? [keepaliveMessage()] : []
  }
}
