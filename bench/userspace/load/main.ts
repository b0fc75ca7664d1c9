import { createInterface } from 'node:readline'
import { socketAddress } from '../../../src/kernel/sockets/socket-address.ts'
import { Sockets } from '../../../src/kernel/sockets/sockets.ts'
import { openSyscalls } from '../../../src/kernel/sockets/syscalls.ts'
import type { IpAddress } from '../../../src/lib/ip.ts'
import { inside } from '../../lab/namespace.ts'
import { exchanges } from './exchanges.ts'
import { hold } from './hold.ts'
import type { LoadOrder, LoadReports } from './order.ts'
import { stream } from './stream.ts'

/** The load generator: one process for all subjects, so that each gets the same load. */
const sys = openSyscalls()
if (sys === undefined) throw new Error('the load generator needs node:ffi')
const sockets = new Sockets(sys)
const held: number[] = []

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(answer(JSON.parse(line) as LoadOrder))}\n`)
}

function answer(order: LoadOrder): LoadReports[keyof LoadReports] | { readonly error: string } {
  try {
    return inside(order.client, () => follow(order))
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

function follow(order: LoadOrder): LoadReports[keyof LoadReports] {
  const target = socketAddress(order.ip as IpAddress, order.port)
  switch (order.what) {
    case 'exchanges':
    case 'roundTrips':
      return exchanges(sockets, target, order)
    case 'stream':
      return stream(sockets, target, order)
    case 'hold': {
      const more = hold(sockets, target, order.connections)
      held.push(...more.sockets)
      return { connections: held.length, failures: more.failures }
    }
    case 'release':
      return { connections: release(), failures: 0 }
  }
}

function release(): number {
  for (const socket of held) {
    sockets.resetOnClose(socket)
    sockets.sys.close(socket)
  }
  return held.splice(0).length
}
