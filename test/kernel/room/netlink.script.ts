import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { rawTransport } from '../../../src/kernel/netlink/raw-transport.ts'
import { NetlinkSession } from '../../../src/kernel/netlink/session.ts'
import { NETLINK_ROUTE } from '../../../src/kernel/netlink/transport.ts'
import { systemClock } from '../../../src/lib/clock.ts'

const RTM_NEWLINK = 16
const RTM_DELLINK = 17
const RTNLGRP_LINK = 1
const SMALL = 16 * 1024

/** Deletes an interface that is not there. */
const wrong = Buffer.alloc(16)
wrong.writeInt32LE(9999, 4)
const deletion = { type: RTM_DELLINK, flags: 0, payload: wrong }
/** An interface without a kind: refused in words. */
const nameless = { type: RTM_NEWLINK, flags: 0x600, payload: Buffer.alloc(16) }

const session = new NetlinkSession(rawTransport(NETLINK_ROUTE, SMALL), systemClock)
const many = await session.transact(Array.from({ length: 700 }, () => deletion))
const few = await session.transact([deletion, nameless])
session.close()

/** Far more changes than fit, while nobody reads. */
const signals = new EventTarget()
const overrun = once(signals, 'overrun')
const transport = rawTransport(
  NETLINK_ROUTE,
  SMALL,
)({
  onDatagram: () => undefined,
  onOverrun: () => signals.dispatchEvent(new Event('overrun')),
})
transport.join(RTNLGRP_LINK)
transport.hold(true)
const flips = Array.from({ length: 400 }, (_, i) => `link set lo ${i % 2 === 0 ? 'up' : 'down'}`)
execFileSync('ip', ['-batch', '-'], { input: `${flips.join('\n')}\n` })
await overrun
transport.close()

process.stdout.write(
  JSON.stringify({
    refused: many.refusals.size,
    repeated: many.repeated,
    errnos: [...new Set([...many.refusals.values()].map(({ errno }) => errno))],
    few: { refusals: [...few.refusals], repeated: few.repeated },
  }),
)
