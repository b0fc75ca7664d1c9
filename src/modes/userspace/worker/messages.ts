import type { MessagePort } from 'node:worker_threads'
import type { AffinityMemory } from '../../../affinity/affinity-memory.ts'
import type { EntryId } from '../../../forwarding/entry.ts'
import type { SocketAddress } from '../../../kernel/sockets/socket-address.ts'
import type { DataPath, ForwarderLimits } from '../forwarder.ts'
import type { RouteTraffic } from '../read-traffic.ts'
import type { Route, RouteProtocol, Side } from '../route.ts'
import type { CounterMemory } from './counters.ts'
import type { OccupancyMemory } from './occupancy.ts'
import type { ListenerAddress } from './route-table.ts'

/** A socket at which clients arrive, opened by the main thread. */
export interface Listener {
  readonly socket: number
  readonly protocol: RouteProtocol
  readonly side: Side
  /** Undefined if rules of this node redirect its clients, which may have sent to any address. */
  readonly at: SocketAddress | undefined
}

/** What a worker starts with (`workerData`). */
export interface WorkerSetup {
  readonly dataPath: DataPath
  /** The number of workers. */
  readonly workers: number
  readonly limits: ForwarderLimits
  readonly mark: number
  readonly affinity: AffinityMemory
  readonly counters: CounterMemory
  /** Sessions of all workers. */
  readonly occupancy: OccupancyMemory
  readonly port: MessagePort
  /** The descriptor by which native workers are woken up when there is a message. */
  readonly wake: number
}

/** Listeners of a JavaScript worker, which opens them itself: it closes first, and opens last. */
export interface ListenerOrder {
  readonly open: readonly ListenerAddress[]
  readonly close: readonly ListenerAddress[]
}

/** A message of the main thread. Orders take effect in turn; the answer to one has its number. */
export interface Order {
  readonly number: number
  readonly open?: readonly Listener[]
  readonly routes?: readonly (readonly [EntryId, Route | undefined])[]
  /** Sockets to stop using; the main thread closes them once all workers have answered. */
  readonly close?: readonly number[]
  /** Sockets that no other worker uses any more: this worker closes each once no client waits there. */
  readonly release?: readonly number[]
  /** For JavaScript workers. */
  readonly listeners?: ListenerOrder
  /** Requests the counts of each route in the answer. */
  readonly traffic?: { readonly withBackends: boolean }
  readonly end?: true
}

/** A worker has carried out the order of this number. */
export interface Answer {
  readonly number: number
  readonly traffic?: readonly RouteTraffic[]
  /** Listeners that could not be opened, by `listenerKey`, and why. */
  readonly refused?: readonly (readonly [key: string, message: string])[]
}
