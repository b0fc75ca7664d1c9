import type { CredentialSource } from './credential.ts'

/** PEM texts of one TLS handshake. */
export interface TlsMaterial {
  /** Authorities to trust; undefined: those of the machine. */
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
}

export interface TlsSettings {
  /** Called for every new connection, so that rotated files are picked up. */
  readonly material: () => Promise<TlsMaterial>
  /** Name to expect in the server's certificate instead of its host. */
  readonly serverName: string | undefined
  readonly insecureSkipVerify: boolean
}

/** Where an API server is and how to be somebody there. */
export interface Connection {
  /** Scheme, host and port: `https://10.0.0.1:6443`. */
  readonly origin: string
  /** Path of a Unix socket that is connected to instead of the origin's host and port. */
  readonly socketPath?: string
  /** Path in front of every request, without a trailing slash; mostly empty. */
  readonly basePath: string
  /** Undefined for plain HTTP; no credential is ever sent then. */
  readonly tls: TlsSettings | undefined
  readonly credentials: CredentialSource
  /** Where this came from, for logs: `kubeconfig "/etc/kubeconfig"`. */
  readonly source: string
}
