import type { SocketAddress } from '../../../src/kernel/sockets/socket-address.ts'
import type { Sockets } from '../../../src/kernel/sockets/sockets.ts'
import { quantile } from '../../report/statistics.ts'
import type { Exchanges, LoadOrder } from './order.ts'
import { Talks } from './talks.ts'

const MAX_WAIT_MS = 20

/** Makes new connections as fast as they are answered, or, for `roundTrips`, new requests on the same connections. */
export function exchanges(
  sockets: Sockets,
  target: SocketAddress,
  { what, connections, ms }: LoadOrder,
): Exchanges {
  const times: number[] = []
  const talks = new Talks(sockets, target, (socket, took) => {
    times.push(took)
    if (what === 'roundTrips') talks.sendRequest(socket)
    else talks.close(socket)
  })
  const startedAt = performance.now()
  while (performance.now() < startedAt + ms) {
    while (talks.size < connections && talks.open());
    talks.wait(MAX_WAIT_MS)
  }
  const seconds = (performance.now() - startedAt) / 1_000
  talks.end()
  if (times.length === 0) throw new Error(`no answer in ${ms} ms, ${talks.failures} failures`)
  const microseconds = (q: number) => quantile(times, q) * 1_000
  return {
    perSecond: times.length / seconds,
    failures: talks.failures,
    p50: microseconds(0.5),
    p99: microseconds(0.99),
  }
}
