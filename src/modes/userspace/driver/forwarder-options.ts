import type { Family } from '../../../lib/ip.ts'
import type { ForwarderLimits, ForwarderOptions } from '../forwarder.ts'
import type { UserspaceConfiguration } from './configuration.ts'

/** What the data path may use of this machine. */
export interface Machine {
  readonly processors: number
  /** The soft limit of this process. */
  readonly openFiles: number
  /** Node can make system calls. */
  readonly hasSyscalls: boolean
}

/** How packets reach the workers (`userspace.entry`), and for which families. */
export interface Entry {
  readonly entry: 'redirect' | 'bind'
  readonly families: readonly Family[]
}

const MAX_WORKERS = 8
/** The kernel's own limit for one process, unless an administrator raised it (fs.nr_open). */
const MAX_CONNECTIONS = 1_048_576
/** The client's socket and the backend's. */
const FILES_PER_CONNECTION = 2
/** For listeners, pipes, pages and the API server; less where files are few. */
const OTHER_FILES = 1_024

/** The options of a data path, from configuration and machine. */
export type ConfiguredForwarder = Omit<ForwarderOptions, 'mark' | 'onLost'>

/** Computes the options of the data path from configuration and machine. */
export function forwarderOptions(
  { userspace, udpIdleTimeout, portRange }: UserspaceConfiguration,
  { entry, families }: Entry,
  { processors, openFiles, hasSyscalls }: Machine,
): ConfiguredForwarder {
  const { dataPath } = userspace
  // The sockets of Node cannot take packets for addresses that are not this machine's.
  const best = entry === 'redirect' || hasSyscalls ? 'native' : 'javascript'
  return {
    dataPath: dataPath === 'auto' ? best : dataPath,
    workers: workersOf(userspace.workers, processors),
    listening: entry === 'redirect' ? 'transparent' : 'bound',
    families,
    portRange,
    limits: {
      ...connectionsOf(userspace, openFiles),
      connectMs: userspace.connectTimeout,
      retryMs: userspace.retryTimeout,
      attempts: userspace.connectAttempts,
      idleMs: userspace.idleTimeout,
      udpIdleMs: udpIdleTimeout,
      drainMs: userspace.gracefulTermination,
      affinityClients: userspace.affinityClients,
    },
  }
}

function workersOf(configured: number, processors: number): number {
  return configured === 0 ? Math.min(processors, MAX_WORKERS) : configured
}

function connectionsOf(
  { maxConnections, maxConnectionsPerClient }: UserspaceConfiguration['userspace'],
  openFiles: number,
): Pick<ForwarderLimits, 'connections' | 'perClient'> {
  const possible = possibleConnections(openFiles)
  const connections = maxConnections === 0 ? possible : Math.min(maxConnections, possible)
  const ofClient = maxConnectionsPerClient === 0 ? connections / 2 : maxConnectionsPerClient
  return { connections, perClient: Math.ceil(ofClient) }
}

function possibleConnections(openFiles: number): number {
  const others = Math.min(OTHER_FILES, openFiles / 2)
  return Math.min(Math.floor((openFiles - others) / FILES_PER_CONNECTION), MAX_CONNECTIONS)
}
