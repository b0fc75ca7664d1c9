import { setImmediate as turn } from 'node:timers/promises'
import { findAttribute } from '../../../src/kernel/netlink/attribute.ts'
import { decodeMessages, type NetlinkMessage } from '../../../src/kernel/netlink/message.ts'
import { NFNLGRP_NFTABLES, NFT_MSG, nfMessageType } from '../../../src/kernel/netlink/nfnetlink.ts'
import { NETLINK_NETFILTER } from '../../../src/kernel/netlink/transport.ts'
import { ELEMENTS } from '../../../src/kernel/nftables/attributes.ts'
import { attributesOf } from '../../../src/kernel/nftables/commands.ts'
import { readElements } from '../../../src/kernel/nftables/element-codec.ts'
import { BlockingSocket } from '../../lab/blocking-socket.ts'
import { serviceAddress } from '../../lab/plan.ts'
import type { Observer } from '../../measure/context.ts'
import type { Target, WaitOptions } from '../../probe/prober.ts'

const NEW_ELEMENT = nfMessageType('nftables', NFT_MSG.newSetElement)
/** Milliseconds after which a read returns without a message, so that the event loop can run. */
const TIMEOUT_MS = 50

/**
 * Learns from the kernel's notifications when elements are in force. The kernel sends them when a transaction has taken
 * effect, and they wake a thread that waits for nothing else.
 */
export class ChangeListener implements Observer {
  readonly #socket: BlockingSocket

  constructor(namespace: string) {
    const protocol = NETLINK_NETFILTER
    this.#socket = new BlockingSocket({ namespace, protocol, timeoutMs: TIMEOUT_MS })
    this.#socket.join(NFNLGRP_NFTABLES)
  }

  async met(targets: readonly Target[], { timeoutMs }: WaitOptions): Promise<number | undefined> {
    const deadline = performance.now() + timeoutMs
    const waiting = new Map(targets.map((each) => [serviceAddress(each.service), each.endpoints]))
    while (performance.now() < deadline) {
      const datagram = this.#socket.receive()
      const at = performance.now()
      if (datagram === undefined) await turn()
      for (const message of decodeMessages(datagram ?? Buffer.alloc(0))) {
        for (const [service, endpoint] of addedEndpoints(message)) {
          if (waiting.get(service)?.has(endpoint) === true) waiting.delete(service)
        }
      }
      if (waiting.size === 0) return at
    }
    return undefined
  }

  close(): void {
    this.#socket.close()
  }
}

/** Service and endpoint of elements that map an address to an address. */
function addedEndpoints(message: NetlinkMessage): readonly (readonly [number, number])[] {
  const list = message.type === NEW_ELEMENT && findAttribute(attributesOf(message), ELEMENTS.list)
  if (!list) return []
  const found: (readonly [number, number])[] = []
  readElements(list, ({ element: { key, data } }) => {
    if (Buffer.isBuffer(data) && data.length >= 4 && key.length >= 4) {
      found.push([key.readUInt32BE(0), data.readUInt32BE(0)])
    }
  })
  return found
}
