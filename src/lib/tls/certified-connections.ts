import { X509Certificate } from 'node:crypto'
import type { Server, TLSSocket } from 'node:tls'

/** The longest chain that is checked, from the client's certificate to an authority. */
const MAX_CHAIN = 10

/** The open connections of a server whose clients showed a certificate of an authority. */
export class CertifiedConnections {
  readonly #sockets = new Set<TLSSocket>()

  /** The trusted authorities; undefined until they are first set: then those by which TLS verifies connections. */
  #trusted: readonly X509Certificate[] | undefined

  constructor(server: Server) {
    server.on('secureConnection', (socket) => {
      if (!socket.authorized) return
      this.#endUntrusted(socket)
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  /**
   * Ends the connections whose certificate none of these authorities (PEM) signed. TLS verified a certificate only
   * when its connection began; without this, a client could go on for as long as it keeps its connection.
   */
  endOthersThan(authorities: string): void {
    this.#trusted = certificatesOf(authorities)
    for (const socket of this.#sockets) this.#endUntrusted(socket)
  }

  #endUntrusted(socket: TLSSocket): void {
    if (this.#trusted === undefined) return
    if (!isSignedBy(socket.getPeerX509Certificate(), this.#trusted)) socket.destroy()
  }
}

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/gu

function certificatesOf(pem: string): readonly X509Certificate[] {
  return (pem.match(BLOCK) ?? []).map((block) => new X509Certificate(block))
}

/** Whether a certificate is signed, directly or through intermediate authorities that the client sent. */
function isSignedBy(
  shown: X509Certificate | undefined,
  authorities: readonly X509Certificate[],
): boolean {
  let certificate = shown
  for (let depth = 0; certificate !== undefined && depth < MAX_CHAIN; depth++) {
    const one = certificate
    const isIssued = (by: X509Certificate): boolean =>
      one.checkIssued(by) && one.verify(by.publicKey)
    if (authorities.some(isIssued)) return true
    certificate = one.issuerCertificate
  }
  return false
}
