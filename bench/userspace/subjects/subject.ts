import type { SubjectName } from '../../report/userspace/results.ts'

export interface Endpoint {
  readonly ip: string
  readonly port: number
}

/** Where a proxy runs, and what it must forward. */
export interface ProxySetup {
  /** Namespace of the proxy. */
  readonly node: string
  readonly listen: Endpoint
  readonly backend: Endpoint
  /** The folder for configuration files. */
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
  /** The address to which the client connects. */
  readonly address: Endpoint
  /** The processes of the subject, without their children and threads. */
  readonly pids: readonly number[]
  stop(): Promise<void>
}
