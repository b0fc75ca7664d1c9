import type { Connection } from '../../client/connection/connection.ts'
import type { Api } from './api.ts'
import type { Impersonation } from './impersonation.ts'

/** The connection of the program: which server, as whom, and in which namespace. */
export interface Session {
  readonly api: Api
  /** For streams that are no HTTP requests, with the headers of `impersonation`. */
  readonly connection: Connection
  /** `--namespace`, else that of the context or of the Pod, else `default`. */
  readonly namespace: string
  /** Whether `--namespace` was given. */
  readonly isNamespaceGiven: boolean
  readonly impersonation: Impersonation | undefined
  /** Distinguishes servers, for caches on the disk. */
  readonly serverKey: string
  close(): Promise<void>
}
