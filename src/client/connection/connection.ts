import type { CredentialSource } from './credential/credential.ts'

/** What one TLS handshake uses, as PEM. */
export interface TlsMaterial {
  /** Authorities to trust; undefined: those of the machine. */
  readonly ca: string | undefined
  /** The client's certificate chain; undefined: none. */
  readonly cert: string | undefined
  /** The private key of `cert`. */
  readonly key: string | undefined
}

/** How to connect by TLS. */
export interface TlsSettings {
  /** Called for every new connection, so that rotated files take effect. @throws NP_CLIENT_CREDENTIAL */
  readonly material: () => Promise<TlsMaterial>
  /** Name to expect in the server's certificate instead of its host. */
  readonly serverName: string | undefined
  /** Whether the server's certificate is not verified. */
  readonly insecureSkipVerify: boolean
}

/** The address of an API server, and how requests to it are authenticated. */
export interface Connection {
  /** Scheme, host and port: `https://10.0.0.1:6443`. */
  readonly origin: string
  /** Path of a Unix socket that is connected to instead of the origin's host and port. */
  readonly socketPath?: string
  /** Prefix of the path of every request, without a trailing slash; mostly empty. */
  readonly basePath: string
  /** Undefined for plain HTTP; no credential is sent then, except through a Unix socket. */
  readonly tls: TlsSettings | undefined
  readonly credentials: CredentialSource
  /** The source of this connection, for logs: `kubeconfig "/etc/kubeconfig"`. */
  readonly source: string
}
