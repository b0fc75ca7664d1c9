import type { SubjectName } from '../../report/userspace/results.ts'

export interface Endpoint {
  readonly ip: string
  readonly port: number
}

/** Where a proxy runs and what it has to forward. */
export interface ProxySetup {
  /** Namespace of the proxy. */
  readonly node: string
  readonly listen: Endpoint
  readonly backend: Endpoint
  /** For configuration files. */
  readonly folder: string
  /** Worker threads or processes. */
  readonly workers: number
  /** Descriptors that one process may have (RLIMIT_NOFILE, hard). */
  readonly descriptors: number
}

/** A path from client to backend that is compared with the others. */
export interface Subject {
  readonly name: SubjectName
  /** Resolves when connections arrive. */
  start(setup: ProxySetup): Promise<Running>
}

export interface Running {
  /** What the client connects to. */
  readonly address: Endpoint
  /** Processes; their children and threads belong to them. */
  readonly pids: readonly number[]
  stop(): Promise<void>
}
