import type { Socket } from 'node:net'
import type { TokenReviews } from '../../auth/authentication/token-reviewer.ts'
import type { Authorizer } from '../../auth/rbac/authorizer.ts'
import type { TokenIssuance } from '../../auth/tokens/token-issuance.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { Random } from '../../lib/random.ts'
import type { Store } from '../../storage/store.ts'
import type { NodeStreams } from '../../streams/node-streams.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Feed } from '../cache/feed.ts'
import type { Allocator } from '../resource/allocation.ts'
import type { Limits } from './limits.ts'
import type { WatchRegistry } from './watch-registry.ts'
import type { WriteTurns } from './write-turns.ts'

/** Receives what operators should know of, such as an address that the server moved. */
export type OperatorLog = Pick<Logger, 'info' | 'warn'>

/** What one server shares between all its verbs and watches. */
export interface ServerContext {
  readonly store: Store
  /** The caches of all resources. */
  readonly feed: Feed
  readonly clock: Clock
  readonly random: Random
  readonly limits: Limits
  /** Chooses addresses and ports that the objects of some kinds hold. */
  readonly allocator: Allocator
  /** Decides what the user of a request may do. */
  readonly authorizer: Authorizer
  /** False: every request is an administrator's, and Pods need no accounts. */
  readonly knowsUsers: boolean
  /** Finds out whose token another server received. */
  readonly tokens: TokenReviews
  /** Undefined: the server issues no tokens. */
  readonly issuance: TokenIssuance | undefined
  /** The running watches. */
  readonly watches: WatchRegistry
  /** The logs that are followed, the connections to Pods, and the requests that nodes answer. */
  readonly streams: WatchRegistry
  /** The streams of the Pods of a node; undefined: no agent of that node is known here. */
  readonly nodeStreams: (node: string) => NodeStreams | undefined
  /** What requests to nodes are sent with, as it is at the moment; undefined: nodes cannot be reached. */
  readonly nodeCredentials: () => NodeCredentials | undefined
  /** Opens a connection to a node. */
  readonly connectNode: (address: IpAddress, port: number) => Socket
  /** The addresses of this server, to which no Pod leads. */
  readonly ownAddresses: () => readonly IpAddress[]
  /** The ports that it serves on. */
  readonly ownPorts: () => readonly number[]
  /** The queues of writers of one object. */
  readonly turns: WriteTurns
  readonly log: OperatorLog
  /** Lasting problems, which logs, metrics and health checks report. */
  readonly conditions: Conditions
}

/** By which this server and the nodes that it sends requests to verify each other. All PEM. */
interface NodeCredentials {
  /** Of this server as a client. */
  readonly cert: string
  readonly key: string
  /** Sign the certificates of nodes. */
  readonly authority: string
}
