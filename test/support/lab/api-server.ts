import type { Credential } from '../agent/protocol.ts'
import type { Serves } from '../stub-api/route.ts'

/** The program with its own store, or with one in an etcd of the lab. */
export type OrchServerKind = 'orch-server' | 'orch-server on etcd'

/**
 * `real`: the project's own API server; `orch-server`: the program around it, with its controllers,
 * in the node's namespace because it serves the loopback only; `kube-apiserver`: Kubernetes' own, also
 * there. Otherwise a permissive stand-in that offers Endpoints only, or EndpointSlices of one version.
 */
export type ApiKind = 'real' | 'kube-apiserver' | OrchServerKind | Serves

/** Flags for ranges that are wide enough for the addresses and ports of every test. */
export const RANGES = [
  '--service-cluster-ip-range=172.16.0.0/12,fd00:172:30::/64',
  '--service-node-port-range=1-32767',
]

/** Programs that are users of a server with users, and have only the permissions of their role. */
export type ProgramUser = 'node-proxy' | 'kube-proxy' | 'kube-controller-manager'

/** An API server on a fixed address. */
export interface ApiServer {
  readonly url: string
  /** PEM of its authority while it runs; undefined if it has none. */
  ca(): string | undefined
  /**
   * The credential of an administrator while it runs; undefined: every client may do everything without a credential.
   */
  admin(): Credential | undefined
  /** The text of a kubeconfig of this user, while it runs. */
  kubeconfigFor(user: ProgramUser): Promise<string>
  start(): Promise<void>
  /** `SIGSTOP` freezes it, `SIGCONT` resumes it, `SIGKILL` ends it. */
  signal(name: NodeJS.Signals): void
  stop(): Promise<void>
  /** Ends every connection and refuses new ones; its state stays. For orch-server this is kill -9. */
  hangUp(): Promise<void>
  /** Ends `hangUp`. */
  answerAgain(): Promise<void>
  output(): string
}
