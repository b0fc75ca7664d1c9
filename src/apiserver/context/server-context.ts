import type { Socket } from 'node:net'
import type { TokenReviews } from '../../auth/authentication/token-reviewer.ts'
import type { Authorizer } from '../../auth/rbac/authorizer.ts'
import type { TokenIssuance } from '../../auth/tokens/token-issuer.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { Random } from '../../lib/random.ts'
import type { Store } from '../../storage/store.ts'
import type { NodeStreams } from '../../streams/node-streams.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Feed } from '../cache/feed.ts'
import type { Allocator } from '../resource/resource.ts'
import type { Limits } from './limits.ts'
import type { WatchRegistry } from './watch-registry.ts'
import type { WriteTurns } from './write-turns.ts'

/** Receives messages for operators, such as that the server moved a Service to another address. */
export type OperatorLog = Pick<Logger, 'info' | 'warn'>

/** The parts of a server that all verbs and watches share. */
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
  /** False: every request has the rights of an administrator, and Pods need no accounts. */
  readonly knowsUsers: boolean
  /** Reviews tokens that other servers received. */
  readonly tokens: TokenReviews
  /** Undefined: the server issues no tokens. */
  readonly issuance: TokenIssuance | undefined
  /** The running watches. */
  readonly watches: WatchRegistry
  /** The followed logs, the connections to Pods, and the requests to nodes. */
  readonly streams: WatchRegistry
  /** The streams of the Pods of a node; undefined: this server has no agent of that node. */
  readonly nodeStreams: (node: string) => NodeStreams | undefined
  /** The current credentials for requests to nodes; undefined: nodes cannot be reached. */
  readonly nodeCredentials: () => NodeCredentials | undefined
  /** How kubelets are reached. */
  readonly kubelets: KubeletAccess
  /** Opens a connection to a node. */
  readonly connectNode: (address: IpAddress, port: number) => Socket
  /** The addresses of this server; connections to a Pod with such an address are refused. */
  readonly ownAddresses: () => readonly IpAddress[]
  /** The ports that this server listens on. */
  readonly ownPorts: () => readonly number[]
  /** The queues of writers, one for each object. */
  readonly turns: WriteTurns
  readonly log: OperatorLog
  /** Lasting problems, which logs, metrics and health checks report. */
  readonly conditions: Conditions
}

/** How a server reaches the kubelets of its nodes. */
export interface KubeletAccess {
  /** The current credentials; undefined: kubelets cannot be reached. */
  readonly credentials: () => KubeletCredentials | undefined
  /** The types of the addresses of a Node at which its kubelet is reached, the preferred one first. */
  readonly addressTypes: readonly string[]
}

export interface KubeletCredentials extends NodeCredentials {
  /**
   * Whether a kubelet whose certificate no authority signed is accepted, too: with the certificate of the first
   * connection, which is pinned to its Node.
   */
  readonly isPinning: boolean
}

/** The certificates by which this server and nodes verify each other, for requests to nodes. All PEM. */
export interface NodeCredentials {
  /** The client certificate of this server. */
  readonly cert: string
  readonly key: string
  /** The authorities that sign the certificates of nodes. */
  readonly authority: string
}
