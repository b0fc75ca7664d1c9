import type { CredentialSource } from './credential/credential.ts'

/** The certificates and key for one TLS handshake, as PEM. */
export interface TlsMaterial {
  /** Authorities to trust; undefined for those of the machine. */
  readonly ca: string | undefined
  /** The client's certificate chain; undefined if the client presents none. */
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
  /** Path of a Unix socket to connect to, instead of the origin's host and port. */
  readonly socketPath?: string
  /** Prefix of the path of every request, without a trailing slash; usually empty. */
  readonly basePath: string
  /** Undefined for plain HTTP; then no credential is sent, except through a Unix socket. */
  readonly tls: TlsSettings | undefined
  readonly credentials: CredentialSource
  /** The source of this connection, for logs: `kubeconfig "/etc/kubeconfig"`. */
  readonly source: string
}
