import { expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import { Poller } from '../sockets/poller.ts'
import type { NativeMemory, Syscalls } from '../sockets/syscalls.ts'
import { LinkResponder } from './link-responder.ts'
import type { LinkStatus } from './neighbour-responder.ts'

const [AF_NETLINK, AF_PACKET] = [16, 17]
const [EMFILE, EAGAIN, ENOBUFS] = [24, 11, 105]
/** The requests for index, Ethernet address and flags, with what the kernel writes behind the name. */
const INTERFACE: ReadonlyMap<number, string> = new Map([
  [0x8933, '07000000'],
  [0x8927, '0100020000000001'],
  [0x8913, '4100'],
])

/** A kernel with the Ethernet interface eth0, which is up. */
function openKernel() {
  const state = { refusesSockets: false, hasLost: false, watch: -1, now: 0 }
  const memories = new Map<bigint, NativeMemory>()
  const sentAt: number[] = []
  let lastDescriptor = 2
  let error = 0
  const open = () => {
    lastDescriptor += 1
    return lastDescriptor
  }
  const sys = {
    allocate: (size: number): NativeMemory => {
      const bytes = Buffer.from(new ArrayBuffer(size))
      const view = new DataView(bytes.buffer, bytes.byteOffset, size)
      const memory = { bytes, view, address: BigInt(memories.size + 1) << 32n }
      memories.set(memory.address, memory)
      return memory
    },
    errno: () => error,
    socket: (family: number) => {
      error = EMFILE
      if (family === AF_PACKET && state.refusesSockets) return -1
      const opened = open()
      if (family === AF_NETLINK) state.watch = opened
      return opened
    },
    ioctl: (_: number, request: number, address: bigint) => {
      memories.get(address)?.bytes.write(INTERFACE.get(request) ?? '', 16, 'hex')
      return 0
    },
    recv: () => {
      error = state.hasLost ? ENOBUFS : EAGAIN
      state.hasLost = false
      return -1
    },
    sendto: () => sentAt.push(state.now),
    epoll_create1: open,
    epoll_ctl: () => 0,
    bind: () => 0,
    setsockopt: () => 0,
    close: () => 0,
  } as unknown as Syscalls
  return { state, sys, sentAt }
}

function rig() {
  const { state, sys, sentAt } = openKernel()
  const links: LinkStatus['state'][] = []
  const handlers = {
    onConflict: () => undefined,
    onLink: (status: LinkStatus) => links.push(status.state),
  }
  const parts = { sys, poller: new Poller(sys), device: 'eth0', handlers, count: () => undefined }
  const responder = new LinkResponder(parts, 0)
  const tickAt = (...times: readonly number[]) => {
    for (const now of times) {
      state.now = now
      responder.tick(now)
    }
  }
  return { state, sentAt, links, responder, tickAt }
}

test.each(['192.0.2.1', '2001:db8::1'])(
  '%s is announced three times from when its socket could be opened',
  (ip) => {
    const { state, sentAt, links, responder, tickAt } = rig()
    state.refusesSockets = true
    responder.announce(new Map([[ip as IpAddress, 60_000]]), 0)
    tickAt(1_000, 2_000, 3_000, 4_000)
    expect(sentAt).toEqual([])
    state.refusesSockets = false
    tickAt(5_000, 6_000, 7_000, 8_000, 9_000)
    expect([...new Set(sentAt)]).toEqual([5_000, 6_000, 7_000])
    expect(links).toEqual(['up', 'failed', 'up'])
  },
)

test('an address is announced anew when notifications were lost that may have said that a bond moved', () => {
  const { state, sentAt, responder, tickAt } = rig()
  responder.announce(new Map([['192.0.2.1' as IpAddress, 60_000]]), 0)
  tickAt(1_000, 2_000, 3_000)
  sentAt.length = 0
  responder.ready(state.watch, 4_000)
  tickAt(4_000)
  expect(sentAt).toEqual([])
  state.hasLost = true
  responder.ready(state.watch, 5_000)
  tickAt(5_000, 6_000, 7_000, 8_000)
  expect([...new Set(sentAt)]).toEqual([5_000, 6_000, 7_000])
})
