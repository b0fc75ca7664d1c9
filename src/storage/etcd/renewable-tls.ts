import { getCACertificates } from 'node:tls'
import type { experimental } from '@grpc/grpc-js'

/** TLS files of a client of etcd, as PEM. */
export interface EtcdTls {
  /** Trusted authorities; absent: those of the system. */
  readonly ca?: Buffer
  /** The client's certificate; absent: none. */
  readonly cert?: Buffer
  /** The private key of `cert`. */
  readonly key?: Buffer
}

type Provider = experimental.CertificateProvider
type AuthorityListener = Parameters<Provider['addCaCertificateListener']>[0]
type IdentityListener = Parameters<Provider['addIdentityCertificateListener']>[0]

/**
 * Certificates that can be replaced while the store is open. New connections use the replaced ones; open
 * connections stay. Whether there is a client certificate at all must not change.
 */
export class RenewableTls implements Provider {
  readonly hasIdentity: boolean
  readonly #authorityListeners = new Set<AuthorityListener>()
  readonly #identityListeners = new Set<IdentityListener>()
  #tls: EtcdTls

  constructor(tls: EtcdTls) {
    this.#tls = tls
    this.hasIdentity = tls.cert !== undefined
  }

  /** Uses other certificates for new connections. */
  replace(tls: EtcdTls): void {
    this.#tls = tls
    for (const listener of this.#authorityListeners) listener(this.#authority())
    for (const listener of this.#identityListeners) listener(this.#identity())
  }

  addCaCertificateListener(listener: AuthorityListener): void {
    this.#authorityListeners.add(listener)
    listener(this.#authority())
  }

  removeCaCertificateListener(listener: AuthorityListener): void {
    this.#authorityListeners.delete(listener)
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.add(listener)
    listener(this.#identity())
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.delete(listener)
  }

  #authority() {
    const { ca = Buffer.from(getCACertificates('default').join('\n')) } = this.#tls
    return { caCertificate: ca }
  }

  #identity() {
    const { cert, key } = this.#tls
    return cert === undefined || key === undefined ? null : { certificate: cert, privateKey: key }
  }
}
