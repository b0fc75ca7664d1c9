import { getSystemErrorName } from 'node:util'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { NetlinkMessage, OutgoingMessage } from '../netlink/message.ts'
import { decodeMessages } from '../netlink/message.ts'
import { NetlinkSession } from '../netlink/session.ts'
import type { OpenTransport } from '../netlink/transport.ts'
import {
  ADDRESS_DUMP,
  decodeAddress,
  decodeLink,
  type IndexedAddress,
  LINK_DUMP,
  RTM_DELADDR,
  RTM_NEWADDR,
} from './address-message.ts'
import type { Addresses, InterfaceAddress } from './addresses.ts'

const RTNLGRP_IPV4_IFADDR = 5
const RTNLGRP_IPV6_IFADDR = 9
/** Changes often come in groups: an interface appears with all its addresses. */
const SETTLE_MS = 100

/**
 * Addresses by rtnetlink: unlike `os.networkInterfaces()` it also knows those
 * of interfaces that are down, which the kernel serves as local all the same.
 */
export class NetlinkAddresses implements Addresses {
  readonly #open: OpenTransport
  readonly #clock: Clock

  constructor(open: OpenTransport, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  async list(): Promise<readonly InterfaceAddress[]> {
    const session = new NetlinkSession(this.#open, this.#clock)
    try {
      const names = new Map<number, string>()
      await dump(session, LINK_DUMP, (message) => {
        const link = decodeLink(message)
        if (link !== undefined) names.set(...link)
      })
      const found = new Map<string, IndexedAddress>()
      await dump(session, ADDRESS_DUMP, (message) => {
        const address = decodeAddress(message)
        if (address !== undefined) found.set(`${address.index} ${address.ip}`, address)
      })
      const sorted = [...found.values()].sort((a, b) => a.index - b.index)
      return sorted.map(({ index, ...address }) => ({ ...address, device: names.get(index) ?? '' }))
    } finally {
      session.close()
    }
  }

  watch(onChange: () => void): () => void {
    let cancel: (() => void) | undefined
    const soon = () => {
      cancel ??= this.#clock.after(SETTLE_MS, () => {
        cancel = undefined
        onChange()
      })
    }
    const transport = this.#open({
      onDatagram: (bytes) => {
        for (const { type } of decodeMessages(bytes)) {
          if (type === RTM_NEWADDR || type === RTM_DELADDR) soon()
        }
      },
      onOverrun: soon,
    })
    transport.join(RTNLGRP_IPV4_IFADDR)
    transport.join(RTNLGRP_IPV6_IFADDR)
    return () => {
      cancel?.()
      transport.close()
    }
  }
}

async function dump(
  session: NetlinkSession,
  what: OutgoingMessage,
  visit: (message: NetlinkMessage) => void,
): Promise<void> {
  const errno = await session.dump(what, visit)
  if (errno === 0) return
  const reason = getSystemErrorName(-errno)
  throw new NodeProxyError('NP_KERNEL_NETLINK', `interface addresses cannot be listed: ${reason}`)
}
