import type { Api } from './api.ts'
import type { Impersonation } from './impersonation.ts'

/** The connection of the program: which server, as whom, and in which namespace. */
export interface Session {
  readonly api: Api
  /** `--namespace`, else that of the context or of the Pod, else `default`. */
  readonly namespace: string
  /** Whether `--namespace` was given. */
  readonly isNamespaceGiven: boolean
  readonly impersonation: Impersonation | undefined
  /** Distinguishes servers, for caches on the disk. */
  readonly serverKey: string
  close(): Promise<void>
}
