import {
  AF_INET,
  checked,
  libc,
  SOCK_CLOEXEC,
  SOCK_NONBLOCK,
  SOCK_STREAM,
  socketAddress,
} from '../lab/libc.ts'
import { inside } from '../lab/namespace.ts'
import { TARGET_PORT } from '../lab/plan.ts'
import type { Topology } from '../lab/topology.ts'

const SOL_SOCKET = 1
const SO_REUSEADDR = 2
const SO_LINGER = 13
const SO_SNDTIMEO = 21

/**
 * The microseconds of each of `count` connections, one after the other, from the system call to its return: client,
 * node, endpoint and back. The same thread accepts the connections, so no other process has to wake up.
 */
export function connectTimes(
  { client, backends }: Topology,
  destination: { readonly ip: number; readonly port: number },
  count: number,
): readonly number[] {
  const listener = inside(backends, listen)
  const times: number[] = []
  try {
    inside(client, () => {
      for (let n = 0; n < count; n++) times.push(connectOnce(destination, listener))
    })
  } finally {
    libc.close(listener)
  }
  return times
}

function listen(): number {
  const type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC
  const listener = checked(libc.socket(AF_INET, type, 0), 'socket')
  // Connections of others to the same port may have ended a moment ago.
  checked(libc.setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, ON, ON.length), 'SO_REUSEADDR')
  const address = socketAddress(0, TARGET_PORT)
  checked(libc.bind(listener, address, address.length), 'bind')
  checked(libc.listen(listener, 128), 'listen')
  return listener
}

function connectOnce({ ip, port }: { ip: number; port: number }, listener: number): number {
  const address = socketAddress(ip, port)
  const fd = checked(libc.socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), 'socket')
  try {
    libc.setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, ONE_SECOND, ONE_SECOND.length)
    libc.setsockopt(fd, SOL_SOCKET, SO_LINGER, RESET_ON_CLOSE, RESET_ON_CLOSE.length)
    const startedAt = performance.now()
    checked(libc.connect(fd, address, address.length), 'connect')
    return (performance.now() - startedAt) * 1_000
  } finally {
    libc.close(fd)
    const accepted = libc.accept4(listener, 0n, 0n, SOCK_CLOEXEC)
    if (accepted >= 0) libc.close(accepted)
  }
}

const ON = Buffer.from([1, 0, 0, 0])
/** struct timeval. */
const ONE_SECOND = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
/** struct linger: on, 0 s, so that no connection stays in TIME_WAIT. */
const RESET_ON_CLOSE = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0])
