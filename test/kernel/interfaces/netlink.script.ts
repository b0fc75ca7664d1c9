import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { decodeLink, LINK_DUMP } from '../../../src/kernel/addresses.ts'
import { encodeMessages, NLM_F_REQUEST } from '../../../src/kernel/netlink/message.ts'
import { rawTransport } from '../../../src/kernel/netlink/raw-transport.ts'
import { requestTransport } from '../../../src/kernel/netlink/request-transport.ts'
import { NetlinkSession } from '../../../src/kernel/netlink/session.ts'
import { NETLINK_ROUTE, type OpenTransport } from '../../../src/kernel/netlink/transport.ts'
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

async function refusals(open: OpenTransport) {
  const session = new NetlinkSession(open, systemClock)
  const many = await session.transact(Array.from({ length: 700 }, () => deletion))
  const few = await session.transact([deletion, nameless])
  const names: string[] = []
  await session.dump(LINK_DUMP, () => {
    names.length = 0
    return (message) => names.push(decodeLink(message)?.[1] ?? '')
  })
  const long = { type: RTM_DELLINK, flags: 0, payload: Buffer.alloc(16 * 1024 * 1024) }
  const tooLong = await session.transact([long]).catch((error: unknown) => String(error))
  session.close()
  const afterwards = await session.transact([deletion]).catch((error: unknown) => String(error))
  return {
    refused: many.refusals.size,
    repeated: many.repeated,
    errnos: [...new Set([...many.refusals.values()].map(({ errno }) => errno))],
    few: { refusals: [...few.refusals], repeated: few.repeated },
    names,
    tooLong,
    afterwards,
  }
}

const raw = await refusals(rawTransport(NETLINK_ROUTE, { receive: SMALL }))
const request = await refusals(requestTransport(NETLINK_ROUTE, SMALL))
const absent = await Promise.resolve()
  .then(() => requestTransport(99)({ onDatagram: () => undefined, onOverrun: () => undefined }))
  .catch((error: unknown) => String(error))

/**
 * Batches of which the answers that fit into the buffer are read in two turns, at some size only the last few of them in
 * the second one: the sizes whose loss was not reported.
 */
const silentLosses: number[] = []
for (let count = 1_700; count < 2_048; count++) {
  let [answers, overruns] = [0, 0]
  const handlers = { onDatagram: () => answers++, onOverrun: () => overruns++ }
  const socket = requestTransport(NETLINK_ROUTE, 4 * SMALL)(handlers)
  const batch = Array.from({ length: count }, () => ({ ...deletion, flags: NLM_F_REQUEST }))
  await socket.send(encodeMessages(batch, 1))
  await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setImmediate(resolve))
  socket.close()
  if (answers < count && overruns === 0) silentLosses.push(count)
}

/** A socket that reads for long leaves turns to others. */
let turns = 0
const counting = setInterval(() => turns++, 0)
const busy = new NetlinkSession(requestTransport(NETLINK_ROUTE), systemClock)
for (let i = 0; i < 1500; i++) await busy.dump(LINK_DUMP, () => () => undefined)
clearInterval(counting)
busy.close()

/** Far more changes than fit, while no process reads. */
const signals = new EventTarget()
const overrun = once(signals, 'overrun')
const transport = rawTransport(NETLINK_ROUTE, { receive: SMALL })({
  onDatagram: () => undefined,
  onOverrun: () => signals.dispatchEvent(new Event('overrun')),
})
transport.join(RTNLGRP_LINK)
transport.hold(true)
const flips = Array.from({ length: 100 }, (_, i) => `link set lo ${i % 2 === 0 ? 'up' : 'down'}`)
execFileSync('ip', ['-batch', '-'], { input: `${flips.join('\n')}\n` })
await overrun
transport.close()

process.stdout.write(JSON.stringify({ raw, request, absent, turns, silentLosses }))
